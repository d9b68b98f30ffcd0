"""What the model computes for one sentence: encoder states of its source, decoder states of its rows.

Decoder inputs are the target history, then the pieces written. Each row predicts the piece after it: row m - 1 + j
predicts written piece j, m being the length of the history with its symbols.

**What a row sees.** The row that predicts a piece sees the source positions that had been read when it was computed.
They are the first ones, so one number says which: the row's limit. What was written by then keeps its limits
(`row_limits`), however much is read later, because its states are kept and not computed again (METHOD section 4). With
`recompute` they are, and all rows see all. Rows of the history see what they saw in training, which is what had been
read when their words were written (`_limits_of_history`). `unfed` puts the rows together that the decoder does not
have yet. docs/architecture.md has an example.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turia.config import OFFLINE_K, Encoder
from turia.engine.backend import DecodeRequest, DecoderState, EncodeRequest, EncoderState, Logits, LookRequest, Steps
from turia.engine.draft import Drafting
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.shared import SharedSource, shared_stops
from turia.engine.window import History, PartialSentence
from turia.policy.base import LearnedPolicy, LookingPolicy, State, TargetRow
from turia.policy.masks import encoder_reach, words_limit
from turia.policy.waitk import MOST_WORDS, WaitK
from turia.text.layout import WHOLE, Ints, Sentence, Window, lay_out, target_rows
from turia.text.symbols import BRK_ID

_NOTHING = Sentence(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Peek(NamedTuple):
    """The row that would write the next word, computed before it was known whether it will be written."""

    request: DecodeRequest
    state: DecoderState
    logits: Logits


@dataclass
class SentenceRows:
    """The states of one sentence, and what is needed to compute more of them."""

    model: Model
    settings: Settings
    history: History
    source: PartialSentence = field(default_factory=PartialSentence)
    closing: int | None = None
    """The source's closing symbol, once the sentence is complete."""
    target: PartialSentence = field(default_factory=PartialSentence)
    row_limits: list[int] = field(default_factory=list)
    """Source positions that the row of each written piece saw. A restored stream computes its states from them."""
    reads: list[int] = field(default_factory=list)
    """Source words that had been read when each target word was written."""
    drafting: Drafting = field(default_factory=Drafting)
    """Of policies that look."""
    shared: SharedSource | None = None
    """Of streams that read the same words."""

    def __post_init__(self) -> None:
        self._encoded: EncoderState | None = None
        self._decoded: DecoderState | None = None
        self._peeked: Peek | None = None
        target_past = self.history.target_sentences()
        prefix = lay_out([*target_past, _NOTHING], self.history.from_start, None).ids
        language = self.model.target_piece
        self._prefix: Ints = prefix if language is None else np.append(prefix, language)
        # One symbol more, where a sentence is closed also while it is being spoken.
        self._open_end = int(self.model.closes_prefixes)
        self._past_positions = len(self._source_window(PartialSentence(), None).ids)

    def states(self) -> tuple[object, ...]:
        """What the model has computed so far: values, which a copy of the writer may share."""
        return self._encoded, self._decoded, self._peeked

    # --- encoder: the source ------------------------------------------------------------------------------------------

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
            if self._goes_on():
                self._encoded = yield from self._encode_new()
            else:
                window = self._source_window(self.source, self.closing) if closed else self._open_window(self.source)
                self._encoded = yield from self._encode_window(window)
            if self.reads and self._encodes_at_reads():
                self.drafting.encodings.append(read)
        return self._encoded

    def _goes_on(self) -> bool:
        """Whether what is new sees what is before it and itself, and nothing else: the first block is complete. Then
        there is no need to lay out the whole window, which takes longer the longer the history is."""
        plain = self.model.anchor == "sentence" and not self.history.flowing and not self._open_end
        alone = self.settings.first_block is None and self.shared is None
        return plain and alone and bool(self.reads) and self._encoded is not None and not self._encodes_whole()

    def _encode_new(self) -> Steps[EncoderState]:
        """Encoder states of all that has been read, of which what is new comes one after the other."""
        assert self._encoded is not None
        known = self._encoded.length
        ids = self.source.ids[known - self._past_positions :] + ([] if self.closing is None else [self.closing])
        reach = np.arange(known + 1, known + len(ids) + 1)
        state: EncoderState
        (state,) = yield [EncodeRequest(self._encoded, np.array(ids, dtype=np.int64), reach)]
        return state

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

    def by_source_word(self, columns: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """[..., S] of all source positions -> [..., words]: sums over the pieces of each word of the sentence."""
        bounds = np.cumsum([self._past_positions, *self.source.pieces])
        before = np.zeros((*columns.shape[:-1], columns.shape[-1] + 1))
        np.cumsum(columns, axis=-1, dtype=np.float64, out=before[..., 1:])
        found = before[..., bounds]
        sums: npt.NDArray[np.float32] = (found[..., 1:] - found[..., :-1]).astype(np.float32)
        return sums

    # --- decoder: what its rows see -----------------------------------------------------------------------------------

    def unfed(self, memory: EncoderState, written: list[int]) -> tuple[DecoderState | None, Ints, Ints]:
        """A state, and ids and limits of the rows that follow it; the last one predicts the piece after `written`."""
        now = memory.length
        if self.settings.recompute:
            ids = np.append(self._prefix, written).astype(np.int64)
            return None, ids, np.full(len(ids), now)
        if self._decoded is None:
            ids = np.append(self._prefix, written).astype(np.int64)
            return None, ids, np.concatenate([self._limits_of_history(now), self._limits_of_rows(written, 0, now)])
        start = self._decoded.length - len(self._prefix)
        return self._decoded, np.array(written[start:], dtype=np.int64), self._limits_of_rows(written, start + 1, now)

    def _limits_of_rows(self, written: list[int], first: int, now: int) -> Ints:
        """What the rows see that predict the written pieces from `first` on, and the next one."""
        kept = self.row_limits[first : len(written)]
        return np.array(kept + [now] * (len(written) + 1 - first - len(kept)), dtype=np.int64)

    def _limits_of_history(self, read: int) -> Ints:
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

    def _unfed_with(
        self, memory: EncoderState, word_begun: list[int]
    ) -> tuple[DecoderState | None, EncoderState, Ints, Ints]:
        state, ids, limits = self.unfed(memory, [*self.target.ids, *word_begun])
        return state, memory, ids, limits

    # --- states that learned policies look at -------------------------------------------------------------------------

    def source_state(self) -> Steps[State]:
        """The encoder state of the last word read, for learned policies."""
        memory: EncoderState = yield from self.read_all()
        assert memory.states is not None
        state: State = memory.states[-1]
        return state

    def target_row(self) -> Steps[TargetRow]:
        """The row that would write the next word, for learned policies. If it is written now, it is not computed
        again; if not, it is forgotten, as it will see more when it writes."""
        memory: EncoderState = yield from self.read_all()
        request = DecodeRequest(*self._unfed_with(memory, []))
        ((state, logits),) = yield [request]
        self._peeked = Peek(request, state, logits)
        return TargetRow(state.states[-1], logits, self.model.forbidden.word_start, self.model.sureness)

    # --- a restored stream --------------------------------------------------------------------------------------------

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


def _lead(settings: Settings) -> int:
    """The k of a model whose masks are anchored at the window, in its pieces."""
    return settings.policy.k if isinstance(settings.policy, WaitK) else OFFLINE_K
