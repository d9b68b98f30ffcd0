"""The translation of one sentence, word by word: greedy (Eq. 1), or a beam that looks ahead and commits one word.

A `Writer` holds what the model has computed for the sentence. Words are written when the stream says so; between two
words the source may have grown. The row that predicts a piece sees what has been read by then, and keeps seeing just
that (METHOD section 4), unless `recompute` is set.

Decoder inputs are the target history, then the pieces written. Row m - 1 + j predicts written piece j, m being the
length of the history with its symbols.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from turia.engine.model import Logits, Model, Steps
from turia.engine.settings import LONGEST_WORD, Settings
from turia.engine.window import Growing, History
from turia.model.masks import cross_limit, encoder_reach
from turia.policy.guards import length_limit
from turia.runtime.session import DecodeRequest, DecoderState, EncodeRequest, EncoderState
from turia.text.layout import Ints, Sentence, Window, lay_out, target_rows
from turia.text.subwords import WordJoiner
from turia.text.symbols import CLOSING_IDS

PLANNED_A_WORD = 4
"""Pieces; more than words have on average: how far the beam plans a sentence that finds no end."""
SEARCH = 2
"""Raised when the same model writes other words: what was translated before is not the same any more."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

Flags = npt.NDArray[np.bool_]
_NOTHING = Sentence(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


@dataclass
class Writer:
    """Writes the translation of one sentence."""

    model: Model
    settings: Settings
    history: History
    source: Growing = field(default_factory=Growing)
    closing: int | None = None
    """The source's closing symbol, once the sentence is complete."""
    target: Growing = field(default_factory=Growing)
    row_limits: list[int] = field(default_factory=list)
    """Source columns that the row of each written piece saw; a restored stream computes its states again from them."""
    plan: list[int] = field(default_factory=list)
    """Pieces that the beam has decided on after the sentence was complete, not yet written."""

    def __post_init__(self) -> None:
        self._encoded: EncoderState | None = None
        self._decoded: DecoderState | None = None
        target_past = self.history.target_sentences()
        self._prefix: Ints = lay_out([*target_past, _NOTHING], self.history.from_start, None).ids
        self._past_positions = len(self._source_window(Growing(), None).ids)

    def write_word(self) -> Steps[str | None]:
        """The next word, or None where the sentence ends."""
        pieces = yield from (self._greedy() if self.settings.beam == 1 else self._beam())
        if not pieces:
            return None
        self.target.add(pieces)
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
        read = {self._past_positions + int(pieces) for pieces in np.cumsum(self.source.pieces)} - {self._past_positions}
        return (
            len(limits) == len(self.target.ids)
            and all(type(limit) is int and limit in read for limit in limits)
            and limits == sorted(limits)
        )

    # --- the model ----------------------------------------------------------------------------------------------

    def _source_window(self, current: Growing, closing: int | None) -> Window:
        return self.history.source_window(current, closing, self.model.source_opening)

    def _recomputes(self) -> bool:
        # Where a word's end shows in what follows it, the row that shows it must look again when more has been read.
        return self.settings.recompute or self.model.target_subwords.space_first

    def _encode(self) -> Steps[EncoderState]:
        """Encoder states of all that has been read."""
        read = self._past_positions + len(self.source.ids) + (self.closing is not None)
        if self._encoded is None or self._encoded.length < read:
            self._encoded = yield from self._encode_window(self._source_window(self.source, self.closing))
        return self._encoded

    def _encode_window(self, window: Window) -> Steps[EncoderState]:
        """Encoder states of `window`, whose first positions may be known."""
        known = None if self._encodes_anew() else self._encoded
        start = 0 if known is None else known.length
        encoder = self.model.encoder
        if encoder == "pbe" and self.settings.encoding == "full":
            # The paper's way. A unidirectional encoder keeps the mask that it was trained with (METHOD section 4).
            encoder = "bidirectional"
        reach = encoder_reach(window, self.settings.k, encoder, self.model.anchor)
        (encoded,) = yield [EncodeRequest(known, window.ids[start:], reach[start:])]
        state: EncoderState = encoded
        return state

    def _encodes_anew(self) -> bool:
        return self.settings.encoding == "full" or self.model.encoder == "bidirectional"

    def _scores(self, word_begun: list[int]) -> Steps[tuple[DecoderState, Logits, int]]:
        """Scores of the piece after all that is written and `word_begun`; also the state, and what the row sees."""
        if self._encoded is None and self.target.ids:
            yield from self._replay()
        memory = yield from self._encode()
        now = memory.length
        written = [*self.target.ids, *word_begun]
        if self._recomputes():
            ids = np.append(self._prefix, written).astype(np.int64)
            ((state, logits),) = yield [DecodeRequest(None, memory, ids, np.full(len(ids), now))]
        else:
            state, logits = yield from self._feed(memory, written, now)
        self._decoded = state
        return state, logits, now

    def _feed(self, memory: EncoderState, written: list[int], now: int) -> Steps[tuple[DecoderState, Logits]]:
        """The rows that the decoder does not know yet, of the history and of the pieces in `written`."""
        if self._decoded is None:
            ids = np.append(self._prefix, written).astype(np.int64)
            limits = np.concatenate([self._past_limits(memory.length), self._row_limits(written, 0, now)])
        else:
            start = self._decoded.length - len(self._prefix)
            ids, limits = np.array(written[start:], dtype=np.int64), self._row_limits(written, start + 1, now)
        ((state, logits),) = yield [DecodeRequest(self._decoded, memory, ids, limits)]
        return state, logits

    def _replay(self) -> Steps[None]:
        """In a restored stream: the very calls that wrote what is written, each with what had been read by then.

        One pass over all of it would give the same states but for the last bit, and other ones where the sentence's end
        became known late. Where the decoder recomputes, those of the encoder are enough.
        """
        fed: list[int] = []
        position = 0
        for pieces in self.target.pieces:
            # The beam feeds a word at a time, the greedy search a piece.
            for count in [pieces] if self.settings.beam > 1 else [1] * pieces:
                now = self.row_limits[position]
                if self._encoded is None or self._encoded.length < now:
                    self._encoded = yield from self._encode_window(self._window_at(now))
                if not self._recomputes():
                    self._decoded, _ = yield from self._feed(self._encoded, fed, now)
                fed, position = self.target.ids[: position + count], position + count

    def _window_at(self, positions: int) -> Window:
        """The source window when it had so many positions; its sentence was not closed then."""
        own = positions - self._past_positions
        words = int(np.searchsorted(np.cumsum(self.source.pieces), own, side="right"))
        return self._source_window(Growing(self.source.ids[:own], self.source.pieces[:words]), None)

    def _row_limits(self, written: list[int], first: int, now: int) -> Ints:
        """What the rows see that predict the written pieces from `first` on, and the next one."""
        kept = self.row_limits[first : len(written)]
        return np.array(kept + [now] * (len(written) + 1 - first - len(kept)), dtype=np.int64)

    def _past_limits(self, read: int) -> Ints:
        """What the rows of the target history see when `read` positions have been read: what they saw in training."""
        target_past = self.history.target_sentences()
        if not target_past:
            return np.zeros(0, dtype=np.int64)
        rows = target_rows(target_past)
        settings = self.settings
        if self.model.anchor == "window":
            return np.minimum(1 + settings.k + np.arange(len(rows.word)), read)
        window = self._source_window(Growing(), None)
        return cross_limit(window, rows, settings.k, settings.gamma, "sentence", settings.rounding)

    # --- greedy -------------------------------------------------------------------------------------------------

    def _greedy(self) -> Steps[list[int]]:
        """The pieces of the best next word, one after the other (Eq. 1); none where the sentence ends."""
        subwords = self.model.target_subwords
        pieces: list[int] = []
        while not pieces or not subwords.ends_word[pieces[-1]]:
            _, logits, now = yield from self._scores(pieces)
            piece = int(np.where(self.forbidden(pieces), -np.inf, logits).argmax())
            if pieces and (piece in CLOSING_IDS or subwords.starts_word[piece]):
                # Only with the space first: the word is over, and what shows it is predicted again in its time.
                break
            if piece in CLOSING_IDS:
                return []
            pieces.append(piece)
            self.row_limits.append(now)
        return pieces

    def forbidden(self, word_begun: list[int]) -> Flags:
        """Pieces that may not follow `word_begun`."""
        tables = self.model.forbidden
        if len(word_begun) >= LONGEST_WORD - 1:
            subwords = self.model.target_subwords
            return ~(subwords.starts_word if subwords.space_first else subwords.ends_word)
        if word_begun:
            return tables.in_word
        return tables.word_start if self.closing is None else tables.word_start_or_end

    # --- beam ---------------------------------------------------------------------------------------------------

    def _beam(self) -> Steps[list[int]]:
        """The first word of the best continuation; with the sentence complete, the best whole rest is planned once."""
        complete = self.closing is not None
        if not self.plan:
            state, logits, now = yield from self._scores([])
            memory: EncoderState = yield from self._encode()
            most = self._most_pieces() if complete else self.settings.lookahead
            search = _BeamSearch(self, memory, now, most)
            self.plan = yield from search.best(Hypothesis((), 0.0, state, logits))
        length = 1 + next(i for i, p in enumerate(self.plan) if self.ends_word(p) or p in CLOSING_IDS)
        word, self.plan = self.plan[:length], self.plan[length:] if complete else []
        if word[-1] in CLOSING_IDS:
            return []
        assert self._encoded is not None
        self.row_limits += [self._encoded.length] * len(word)
        return word

    def _most_pieces(self) -> int:
        """What a plan may have, with or without an end: positions left, and about the words that a guard lets by."""
        room = self.model.max_positions - len(self._prefix) - len(self.target.ids) - 1
        words = max(1, length_limit(self.source.words, self.settings.gamma) - self.target.words)
        return min(room, PLANNED_A_WORD * words)

    def ends_word(self, piece: int) -> bool:
        return bool(self.model.target_subwords.ends_word[piece])


@dataclass(frozen=True)
class Hypothesis:
    """A continuation of what is written. A closing symbol, if there, is its last piece."""

    pieces: tuple[int, ...]
    score: float
    state: DecoderState
    logits: Logits | None

    @property
    def ended(self) -> bool:
        return bool(self.pieces) and self.pieces[-1] in CLOSING_IDS

    @property
    def per_piece(self) -> float:
        """Mean log-probability, so that short translations are not preferred."""
        return self.score / max(1, len(self.pieces))


@dataclass(frozen=True)
class _BeamSearch:
    """A beam over the pieces that follow what a writer has written."""

    writer: Writer
    memory: EncoderState
    limit: int
    most: int
    """Pieces to look ahead; further only until the best hypothesis has a whole word."""

    def best(self, start: Hypothesis) -> Steps[list[int]]:
        """The pieces of the best hypothesis: at least a word, or a closing symbol."""
        alive, ended, ends, most = [start], None, 0, self.most
        width = self.writer.settings.beam
        while True:
            grown = sorted((h for parent in alive for h in self._grow(parent, width)), key=lambda h: -h.score)[:width]
            alive = [hypothesis for hypothesis in grown if not hypothesis.ended]
            new = [hypothesis for hypothesis in grown if hypothesis.ended]
            ended = max([*new, *([ended] if ended else [])], key=lambda h: h.per_piece, default=None)
            if ends < width <= ends + len(new):
                # What goes on for as long again is a loop, however sure of itself.
                most = min(most, 2 * len(grown[0].pieces) + PLANNED_A_WORD)
            ends += len(new)
            if not alive or (len(grown[0].pieces) >= most and self._has_word(alive[0])):
                break
            # That the first end looks best is not enough: ends are likely early, and translations came out short.
            if ended and ends >= width and alive[0].per_piece < ended.per_piece:
                break
            requests = [
                DecodeRequest(h.state, self.memory, np.array([h.pieces[-1]]), np.array([self.limit])) for h in alive
            ]
            results = yield requests
            alive = [Hypothesis(h.pieces, h.score, *result) for h, result in zip(alive, results, strict=True)]
        # What has no end is whole only if the search has found too few ends.
        whole = [] if ended and ends >= width else [hypothesis for hypothesis in alive if self._has_word(hypothesis)]
        best = max([*whole, *([ended] if ended else [])], key=lambda h: h.per_piece)
        # A plan consists of whole words, and perhaps the end.
        begun = 0 if best.ended else len(self._word_begun(best.pieces))
        return list(best.pieces[: len(best.pieces) - begun])

    def _grow(self, parent: Hypothesis, width: int) -> list[Hypothesis]:
        """The `width` best continuations by one piece; the closing symbols are one, by whichever name."""
        assert parent.logits is not None
        forbidden = self.writer.forbidden(self._word_begun(parent.pieces))
        scores = np.where(forbidden, -np.inf, parent.logits).astype(np.float64)
        scores -= scores.max()
        scores -= np.log(np.exp(scores).sum())
        end, *names = CLOSING_IDS
        scores[end] = np.logaddexp.reduce(scores[list(CLOSING_IDS)])
        scores[names] = -np.inf
        # Only the best few are put in order: to sort a vocabulary takes longer than to score it.
        top = np.sort(np.argpartition(-scores, min(width, len(scores) - 1))[:width])
        top = top[np.argsort(-scores[top], kind="stable")]
        return [
            Hypothesis((*parent.pieces, int(piece)), parent.score + float(scores[piece]), parent.state, None)
            for piece in top
            if scores[piece] > -np.inf
        ]

    def _word_begun(self, pieces: tuple[int, ...]) -> list[int]:
        start = max((i + 1 for i, piece in enumerate(pieces) if self.writer.ends_word(piece)), default=0)
        return list(pieces[start:])

    def _has_word(self, hypothesis: Hypothesis) -> bool:
        return hypothesis.ended or any(map(self.writer.ends_word, hypothesis.pieces))
