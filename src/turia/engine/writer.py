"""The translation of one sentence, word by word: greedy (Eq. 1), or a beam that looks ahead and commits one word.

A `Writer` holds what the model has computed for the sentence. Words are written when the stream says so; between two
words the source may have grown. The row that predicts a piece sees what has been read by then, and keeps seeing just
that (METHOD section 4), unless `recompute` is set.

Decoder inputs are the target history, then the pieces written. Row m - 1 + j predicts written piece j, m being the
length of the history with its symbols.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turia.config import OFFLINE_K, Encoder
from turia.engine.backend import DecodeRequest, DecoderState, EncodeRequest, EncoderState, Logits, LookRequest, Steps
from turia.engine.beam import PLANNED_PER_WORD, BeamSearch, Ending, Hypothesis
from turia.engine.draft import Drafted, Drafting
from turia.engine.model import Model
from turia.engine.settings import LONGEST_WORD, Settings
from turia.engine.shared import SharedSource, shared_stops
from turia.engine.terms import ScoredRow, SentenceTerms, steer, term_pieces
from turia.engine.window import History, PartialSentence
from turia.policy.base import LearnedPolicy, LookingPolicy, State
from turia.policy.guards import length_limit
from turia.policy.masks import encoder_reach, words_limit
from turia.policy.waitk import MOST_WORDS, WaitK
from turia.text.choice import Flags
from turia.text.layout import WHOLE, Ints, Sentence, Window, lay_out, target_rows
from turia.text.subwords import WordJoiner
from turia.text.symbols import BRK_ID, STOPPING_IDS

SEARCH_VERSION = 3
"""Raised when the same model writes other words: what was translated before is not the same any more."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_NOTHING = Sentence(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


@dataclass
class Writer:
    """Writes the translation of one sentence."""

    model: Model
    settings: Settings
    history: History
    source: PartialSentence = field(default_factory=PartialSentence)
    closing: int | None = None
    """The source's closing symbol, once the sentence is complete."""
    target: PartialSentence = field(default_factory=PartialSentence)
    row_limits: list[int] = field(default_factory=list)
    """Source columns that the row of each written piece saw; a restored stream computes its states again from them."""
    reads: list[int] = field(default_factory=list)
    """Source words that had been read when each target word was written."""
    drafting: Drafting = field(default_factory=Drafting)
    """Of policies that look."""
    plan: list[int] = field(default_factory=list)
    """Pieces that the beam has decided on after the sentence was complete, not yet written."""
    heard: list[str] = field(default_factory=list)
    """The source words as they were said, for a glossary; none without one."""
    shared: SharedSource | None = None
    """Of streams that read the same words."""

    def __post_init__(self) -> None:
        self._encoded: EncoderState | None = None
        self._decoded: DecoderState | None = None
        self._peeked: _Peek | None = None
        target_past = self.history.target_sentences()
        prefix = lay_out([*target_past, _NOTHING], self.history.from_start, None).ids
        language = self.model.target_piece
        self._prefix: Ints = prefix if language is None else np.append(prefix, language)
        # One symbol more, where a sentence is closed also while it is being spoken.
        self._open_end = int(self.model.closes_prefixes)
        self._past_positions = len(self._source_window(PartialSentence(), None).ids)
        glossary = self.settings.glossary
        subwords = self.model.target_subwords
        self.terms = None if glossary is None else SentenceTerms(term_pieces(glossary, subwords))

    def read(self, word: str, pieces: tuple[int, ...]) -> None:
        """The next source word, and its pieces."""
        self.source.add(pieces)
        if self.terms is not None:
            self.heard.append(word)

    def steer(self, rows: Sequence[ScoredRow]) -> Steps[list[Logits]]:
        """The scores of the rows, as the glossary wants them."""
        return steer(self, rows)

    def write_word(self) -> Steps[str | None]:
        """The next word, or None where the sentence ends."""
        pieces = yield from (self._greedy() if self.settings.beam == 1 else self._beam())
        if not pieces:
            return None
        self.target.add(pieces)
        self.reads.append(self.source.words)
        return self.spell(pieces)

    def commit(self, draft: Drafted, words: int) -> None:
        """Writes the first words of a draft, at least one."""
        assert self._encoded is not None
        # The row that predicts the first word of the draft saw what it will be known to have seen.
        self._decoded = draft.state
        chosen = draft.draft.words[:words]
        self.drafting.committed(draft.guess, sum(len(word.pieces) for word in chosen))
        for word in chosen:
            self.target.add(word.pieces)
            self.row_limits += [self._encoded.length] * len(word.pieces)
            self.reads.append(self.source.words)

    def insist(self, pieces: Sequence[int], instead: bool) -> None:
        """Writes this word in place of the last one (`instead`), or where the sentence would have ended."""
        assert self._encoded is not None
        if instead:
            last = self.target.pieces.pop()
            del self.target.ids[-last:], self.row_limits[-last:], self.reads[-1]
        self.plan, self._peeked = [], None
        fed = len(self._prefix) + len(self.target.ids)
        if self._decoded is not None and self._decoded.length > fed:
            self._decoded = self._decoded.truncated(fed)
        self.target.add(list(pieces))
        self.row_limits += [self._encoded.length] * len(pieces)
        self.reads.append(self.source.words)

    def reads_as_history(self) -> list[int]:
        """What the history keeps of `reads`."""
        return self.reads

    def states(self) -> tuple[object, ...]:
        """What the model has computed so far: values, which a copy of the writer may share."""
        return self._encoded, self._decoded, self._peeked

    def spell(self, pieces: Sequence[int]) -> str:
        """The word of these pieces."""
        joiner = WordJoiner(self.model.target_subwords)
        words = [joiner.push(piece) for piece in pieces]
        # Bytes that spell no character leave a mark rather than an empty word.
        return words[-1] or joiner.flush() or REPLACEMENT

    def has_room(self) -> bool:
        """Whether another word fits into the model's positions."""
        return len(self._prefix) + len(self.target.ids) + LONGEST_WORD < self.model.max_positions

    def fits(self) -> bool:
        """Whether what is written has its place in the model's positions, as it has whenever there was room for it."""
        return len(self._prefix) + len(self.target.ids) < self.model.max_positions

    def has_sound_limits(self) -> bool:
        """Whether each written piece has a limit that the source had when some word of it had been read."""
        limits = self.row_limits
        nothing = self._past_positions + self._open_end
        read = {nothing + int(pieces) for pieces in np.cumsum(self.source.pieces)} - {nothing}
        return (
            len(limits) == len(self.target.ids)
            and all(type(limit) is int and limit in read for limit in limits)
            and limits == sorted(limits)
        )

    def has_sound_drafts(self) -> bool:
        """Whether the pieces and positions of drafts can be: one guess for each commit of a policy that looks."""
        drafting, subwords = self.drafting, self.model.target_subwords
        looks = isinstance(self.settings.policy, LookingPolicy)
        pieces = [piece for guess in (drafting.guess, *drafting.guesses) for piece in guess]
        return (
            len(drafting.guesses) == (len(self._fed_together()) if looks else 0)
            and len(drafting.margins) == len(drafting.guess)
            and all(type(margin) is float and 0 <= margin < math.inf for margin in drafting.margins)
            and all(type(piece) is int and 0 <= piece < len(subwords) for piece in pieces)
            and not any(subwords.is_control[piece] for piece in pieces)
            and all(type(stop) is int and stop > self._past_positions + self._open_end for stop in drafting.encodings)
            and drafting.encodings == sorted(drafting.encodings)
            and max(drafting.encodings, default=0) <= self._past_positions + len(self.source.ids) + self._open_end
            and len(self._prefix) + len(self.target.ids) + max(map(len, (drafting.guess, *drafting.guesses)))
            < self.model.max_positions
        )

    def reads_from_limits(self) -> list[int]:
        """Source words that had been read at each written word, from the positions that its first row saw."""
        ends = self._past_positions + np.cumsum(self.source.pieces)
        firsts = np.cumsum([0, *self.target.pieces[:-1]])[: self.target.words]
        return [int(np.searchsorted(ends, self.row_limits[first], side="right")) for first in firsts]

    # --- the model ----------------------------------------------------------------------------------------------

    def _source_window(self, current: PartialSentence, closing: int | None) -> Window:
        return self.history.source_window(current, closing, self.model.source_opening, self.model.source_piece)

    def _open_window(self, current: PartialSentence) -> Window:
        """The source window of a sentence that is still being spoken."""
        return self._source_window(current, BRK_ID if self.model.closes_prefixes else None)

    def read_all(self) -> Steps[EncoderState]:
        """Encoder states of all that has been read."""
        if self._encoded is None and self.target.ids:
            yield from self._replay()
        closed = self.closing is not None
        read = self._past_positions + len(self.source.ids) + (1 if closed else self._open_end)
        if self._encoded is None or self._encoded.length < read:
            window = self._source_window(self.source, self.closing) if closed else self._open_window(self.source)
            self._encoded = yield from self._encode_window(window)
            if self.reads and self._encodes_at_reads():
                self.drafting.encodings.append(read)
        return self._encoded

    def unfed(self, memory: EncoderState, written: list[int]) -> tuple[DecoderState | None, Ints, Ints]:
        """A state, and ids and limits of the rows that follow it; the last one predicts the piece after `written`."""
        now = memory.length
        if self.settings.recompute:
            ids = np.append(self._prefix, written).astype(np.int64)
            return None, ids, np.full(len(ids), now)
        if self._decoded is None:
            ids = np.append(self._prefix, written).astype(np.int64)
            return None, ids, np.concatenate([self._past_limits(now), self._row_limits(written, 0, now)])
        start = self._decoded.length - len(self._prefix)
        return self._decoded, np.array(written[start:], dtype=np.int64), self._row_limits(written, start + 1, now)

    def by_source_word(self, columns: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """[..., S] of all source positions -> [..., words]: sums over the pieces of each word of the sentence."""
        ends = self._past_positions + np.cumsum(self.source.pieces)
        before = np.zeros((*columns.shape[:-1], columns.shape[-1] + 1))
        np.cumsum(columns, axis=-1, dtype=np.float64, out=before[..., 1:])
        sums: npt.NDArray[np.float32] = np.diff(before[..., np.r_[self._past_positions, ends]]).astype(np.float32)
        return sums

    def _encode_window(self, window: Window) -> Steps[EncoderState]:
        """Encoder states of `window`, whose first positions may be known."""
        encoder = self.model.encoder
        if encoder == "pbe" and self.settings.encoding == "full":
            # The paper's way. A unidirectional encoder keeps the mask that it was trained with (METHOD section 4).
            encoder = "bidirectional"
        reach = self._reach(window, encoder)
        state = None if self._encodes_anew() else self._encoded
        start = 0 if state is None else state.length
        for stop in self._stops(reach, start):
            ids, seen = window.ids[start:stop], reach[start:stop]
            if self.shared is None:
                (state,) = yield [EncodeRequest(state, ids, seen)]
            else:
                state = yield from self.shared.encode(state, ids, seen)
            start = stop
        assert state is not None
        return state

    def _stops(self, reach: Ints, start: int) -> list[int]:
        """Where the calls end that encode a window from `start` on."""
        if self.settings.first_block is None or self._encodes_whole():
            return [len(reach)]
        own = max(1, self._own_block(self.source.words))
        return shared_stops(self._past_positions + np.cumsum(self.source.pieces)[own - 1 :], reach, start)

    def _reach(self, window: Window, encoder: Encoder) -> Ints:
        return encoder_reach(window, self._first_blocks(window), encoder, self.model.anchor)

    def _first_blocks(self, window: Window) -> int | Ints:
        """Words of each sentence that see each other in a partial bidirectional encoder: those that had been read when
        the sentence's first word was written. With the window's anchor, one k for the pieces of all sentences."""
        if self.model.anchor == "window":
            return _lead(self.settings)
        most = self.settings.first_block or MOST_WORDS
        past = [min(words, most) for words in self.history.first_blocks()]
        return np.array([*past, self._own_block(int(window.words[-1]))])

    def _own_block(self, words: int) -> int:
        """Words of the sentence's first block, when so many have been read."""
        return min(self.reads[0] if self.reads else words, self.settings.first_block or MOST_WORDS)

    def _encodes_anew(self) -> bool:
        # Before the first word is written, the first block is still growing.
        growing = self.model.encoder == "pbe" and not self.reads and not self._has_first_block()
        return self._encodes_whole() or growing

    def _has_first_block(self) -> bool:
        """Whether a first block of a given size is encoded."""
        size, known = self.settings.first_block, self._encoded
        return (
            size is not None
            and known is not None
            and self.source.words >= size
            and known.length >= self._past_positions + sum(self.source.pieces[:size])
        )

    def _encodes_whole(self) -> bool:
        return self.settings.encoding == "full" or self.model.encoder == "bidirectional"

    def _scores(self, word_begun: list[int]) -> Steps[tuple[DecoderState, Logits, int]]:
        """Scores of the piece after all that is written and `word_begun`; also the state, and what the row sees."""
        memory = yield from self.read_all()
        peeked, self._peeked = self._peeked, None
        if peeked is not None and not word_begun and peeked.request.memory is memory:
            request, self._decoded, logits = peeked
        else:
            request = DecodeRequest(*self._unfed_with(memory, word_begun))
            ((self._decoded, logits),) = yield [request]
        (steered,) = yield from self.steer([ScoredRow(tuple(word_begun), request, logits)])
        return self._decoded, steered, memory.length

    def _unfed_with(
        self, memory: EncoderState, word_begun: list[int]
    ) -> tuple[DecoderState | None, EncoderState, Ints, Ints]:
        state, ids, limits = self.unfed(memory, [*self.target.ids, *word_begun])
        return state, memory, ids, limits

    def source_state(self) -> Steps[State]:
        """The encoder state of the last word read, for learned policies."""
        memory: EncoderState = yield from self.read_all()
        assert memory.states is not None
        state: State = memory.states[-1]
        return state

    def target_state(self) -> Steps[State]:
        """The decoder state of the row that would write the next word. If it is written now, the row is not computed
        again; if not, it is forgotten, as it will see more when it writes."""
        memory: EncoderState = yield from self.read_all()
        request = DecodeRequest(*self._unfed_with(memory, []))
        ((state, logits),) = yield [request]
        self._peeked = _Peek(request, state, logits)
        row: State = state.states[-1]
        return row

    def _replay(self) -> Steps[None]:
        """In a restored stream: the very calls that wrote what is written, each with what had been read by then.

        One pass over all of it would give the same states but for the last bit, and other ones where the sentence's end
        became known late. Where the decoder recomputes, those of the encoder are enough.
        """
        looks = isinstance(self.settings.policy, LookingPolicy)
        encodings = list(self.drafting.encodings) if self._encodes_at_reads() else []
        fed: list[int] = []
        position = 0
        for call, count in enumerate(self._fed_together()):
            now = self.row_limits[position]
            yield from self._encode_again(now, encodings)
            if not self.settings.recompute:
                yield from self._feed_again(fed, self.drafting.guesses[call] if looks else [])
            fed, position = self.target.ids[: position + count], position + count
        if encodings:
            yield from self._encode_again(encodings[-1], encodings)

    def _encode_again(self, positions: int, encodings: list[int]) -> Steps[None]:
        """Encodes the source up to `positions`, in the steps of `encodings`; those that are done are removed."""
        while self._encoded is None or self._encoded.length < positions:
            stop = encodings.pop(0) if encodings and self._encoded is not None else positions
            self._encoded = yield from self._encode_window(self._window_at(stop))

    def _feed_again(self, written: list[int], guess: list[int]) -> Steps[None]:
        """Feeds what was written before some piece, with the guess that was fed in the same call."""
        assert self._encoded is not None
        now = self._encoded.length
        state, ids, limits = self.unfed(self._encoded, written)
        if not isinstance(self.settings.policy, LookingPolicy) or not self.model.backend.can_look:
            ((self._decoded, _),) = yield [DecodeRequest(state, self._encoded, ids, limits)]
            return
        ids, limits = np.append(ids, guess).astype(np.int64), np.append(limits, [now] * len(guess)).astype(np.int64)
        (looks,) = yield [LookRequest(state, self._encoded, ids, limits)]
        self._decoded = looks.state.truncated(looks.state.length - len(guess))

    def _encodes_at_reads(self) -> bool:
        """Whether the policy has each word encoded as soon as it is read, and not only when something is written."""
        return isinstance(self.settings.policy, LookingPolicy | LearnedPolicy)

    def _fed_together(self) -> list[int]:
        """How many of the written pieces went into the decoder with each call: what a draft committed at once, a word
        of the beam, or a piece of the greedy search."""
        if isinstance(self.settings.policy, LookingPolicy):
            # Not by what the rows saw: a word that normalises to nothing is read, but adds no position.
            pieces = Counter[int]()
            for read, count in zip(self.reads, self.target.pieces, strict=True):
                pieces[read] += count
            return list(pieces.values())
        return self.target.pieces if self.settings.beam > 1 else [1] * len(self.target.ids)

    def _window_at(self, positions: int) -> Window:
        """The source window when it had so many positions; its sentence was not closed then."""
        own = positions - self._past_positions - self._open_end
        words = int(np.searchsorted(np.cumsum(self.source.pieces), own, side="right"))
        return self._open_window(PartialSentence(self.source.ids[:own], self.source.pieces[:words]))

    def _row_limits(self, written: list[int], first: int, now: int) -> Ints:
        """What the rows see that predict the written pieces from `first` on, and the next one."""
        kept = self.row_limits[first : len(written)]
        return np.array(kept + [now] * (len(written) + 1 - first - len(kept)), dtype=np.int64)

    def _past_limits(self, read: int) -> Ints:
        """What the rows of the target history see when `read` positions have been read: what they saw in training.
        The row that would predict the piece of the language sees all."""
        language = np.full(int(self.model.target_piece is not None), read, dtype=np.int64)
        target_past = self.history.target_sentences()
        if not target_past:
            return language
        rows = target_rows(target_past)
        if self.model.anchor == "window":
            return np.append(np.minimum(1 + _lead(self.settings) + np.arange(len(rows.word)), read), language)
        needed = np.concatenate(
            [
                np.append(np.repeat(reads, sentence.pieces), WHOLE)
                for reads, sentence in zip(self.history.reads, target_past, strict=True)
            ]
        )
        limits = words_limit(self._source_window(PartialSentence(), None), rows.sentence, needed)
        return np.append(limits, language)

    # --- greedy -------------------------------------------------------------------------------------------------

    def _greedy(self) -> Steps[list[int]]:
        """The pieces of the best next word, one after the other (Eq. 1); none where the sentence ends."""
        subwords = self.model.target_subwords
        pieces: list[int] = []
        while not pieces or not subwords.ends_word[pieces[-1]]:
            _, logits, now = yield from self._scores(pieces)
            piece = int(np.where(self.forbidden(pieces), -np.inf, logits).argmax())
            if pieces and (piece in STOPPING_IDS or subwords.starts_word[piece]):
                # Only with the space first: the word is over. The row that shows it will look again in its time, when
                # more may have been read.
                assert self._decoded is not None
                self._decoded = self._decoded.truncated(self._decoded.length - 1)
                break
            if piece in STOPPING_IDS:
                return []
            pieces.append(piece)
            self.row_limits.append(now)
        return pieces

    def forbidden(self, word_begun: list[int], may_end: bool = False) -> Flags:
        """Pieces that may not follow `word_begun`. The sentence `may_end` in any case once its source is complete."""
        tables = self.model.forbidden
        if len(word_begun) >= LONGEST_WORD - 1:
            subwords = self.model.target_subwords
            return ~(subwords.starts_word if subwords.space_first else subwords.ends_word)
        if word_begun:
            return tables.in_word
        return tables.word_start_or_end if may_end or self.closing is not None else tables.word_start

    # --- beam ---------------------------------------------------------------------------------------------------

    def _beam(self) -> Steps[list[int]]:
        """The first word of the best continuation; with the sentence complete, the best whole rest is planned once."""
        complete = self.closing is not None
        if not self.plan:
            state, logits, now = yield from self._scores([])
            memory: EncoderState = yield from self.read_all()
            most = self._most_pieces() if complete else self.settings.lookahead
            search = BeamSearch(self, self.settings.beam, memory, now, most, self.beam_rules(complete))
            best = yield from search.best(Hypothesis((), (), (), state, logits))
            self.plan = list(best.pieces)
        # A plan has whole words, also where the end of the last one does not show.
        length = next(iter(self.word_ends(self.plan)), len(self.plan))
        word, self.plan = self.plan[:length], self.plan[length:] if complete else []
        if word[-1] in STOPPING_IDS:
            return []
        assert self._encoded is not None
        self.row_limits += [self._encoded.length] * len(word)
        return word

    def _most_pieces(self) -> int:
        """What a plan may have, with or without an end: positions left, and about the words that a guard lets by."""
        words = max(1, length_limit(self.source.words, self.settings.gamma) - self.target.words)
        return min(self.positions_left(), PLANNED_PER_WORD * words)

    def positions_left(self) -> int:
        """Of the model, for more target pieces."""
        return self.model.max_positions - len(self._prefix) - len(self.target.ids) - 1

    def word_ends(self, pieces: Sequence[int]) -> list[int]:
        """The place after each whole word of `pieces`. With the space first, a word is over when something follows that
        shows it."""
        subwords = self.model.target_subwords
        if subwords.space_first:
            shows = (piece in STOPPING_IDS or subwords.starts_word[piece] for piece in pieces)
            return [place for place, shown in enumerate(shows) if shown and place]
        return [place for place, piece in enumerate(pieces, start=1) if subwords.ends_word[piece]]

    def beam_rules(self, may_end: bool) -> Ending:
        """How a beam ends, of a search in which the sentence `may_end`."""
        if not may_end or self.model.search == "turia":
            return Ending()
        # The piece of the language counts, as `generate` predicts it by force.
        return Ending(as_generate=True, counted=int(self.model.target_piece is not None and not self.target.ids))


class _Peek(NamedTuple):
    """The row that would write the next word, computed before it was known whether it will be written."""

    request: DecodeRequest
    state: DecoderState
    logits: Logits


def _lead(settings: Settings) -> int:
    """The k of a model whose masks are anchored at the window, in its pieces."""
    return settings.policy.k if isinstance(settings.policy, WaitK) else OFFLINE_K
