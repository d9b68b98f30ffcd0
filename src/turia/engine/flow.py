"""The translation of one sentence when there is no segmenter to say where it ends (docs/decisions/036).

The model ends the sentence itself, by a separator. Where the policy lets it write and it has nothing to say yet, it
writes that more has to be read (`MORE_ID`). The row that found no word is forgotten, and looks again later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turia.config import Encoder
from turia.engine.backend import DecodeRequest, DecoderState, Logits, LookRequest, Steps
from turia.engine.choosing import best_allowed
from turia.engine.cutting import LOOKED_AT
from turia.engine.rows import Peek
from turia.engine.writer import Writer
from turia.policy.masks import flowing_reach, words_limit
from turia.text.choice import Flags
from turia.text.layout import Ints, Window, target_rows
from turia.text.symbols import MORE_ID, SEP_ID, STOPPING_IDS


class _LastRow(NamedTuple):
    """The newest row that was asked for the next piece."""

    before: DecoderState | None
    """The decoder's state without it."""
    logits: Logits


@dataclass
class FlowWriter(Writer):
    """A writer that may end its sentence itself; `history` is a flowing one."""

    must_write: bool = False
    """Whether the next word has to be one, and not a symbol."""

    def __post_init__(self) -> None:
        assert self.history.flowing
        self._row: _LastRow | None = None
        super().__post_init__()

    def stopping_symbol(self) -> Steps[int]:
        """Which symbol it was, where `write_word` has found no word."""
        fed = len(self._prefix) + len(self.target.ids)
        if self._row is None or self._decoded is None or self._decoded.length < fed:
            # A plan has come to its end.
            yield from self._scores([])
        assert self._row is not None
        scores = np.where(self.forbidden([]), -np.inf, self._row.logits)
        return max(STOPPING_IDS, key=lambda symbol: float(scores[symbol]))

    def forget_row(self) -> None:
        """The last row has found no word. It will look again in its time, when more has been read."""
        if self._row is not None:
            self._decoded, self._row = self._row.before, None

    def look_back(self) -> Steps[npt.NDArray[np.float32]]:
        """[target words, source words] how much of the cross-attention of each written word was on each source word."""
        memory = yield from self.read_all()
        first, written = len(self._prefix) - 1, self.target.ids
        ids = np.append(self._prefix, written[:-1]).astype(np.int64)
        limits = np.concatenate([self._limits_of_history(memory.length), np.array(self.row_limits, dtype=np.int64)])
        (looks,) = yield [LookRequest(None, memory, ids, limits)]
        rows = self.by_source_word(LOOKED_AT.of(looks.attention)[first:])
        begins = np.cumsum([0, *self.target.pieces[:-1]])
        means: npt.NDArray[np.float32] = np.add.reduceat(rows, begins) / np.array(self.target.pieces)[:, None]
        return means

    def without_history(self) -> FlowWriter:
        """The same sentence, as far as it is, after the history was dropped: its rows see the same words of it."""
        writer = FlowWriter(self.model, self.settings, self.history, self.source, self.closing, self.target)
        moved = self._past_positions - writer._past_positions
        writer.row_limits, writer.reads = [limit - moved for limit in self.row_limits], self.reads
        writer.drafting.guesses = self.drafting.guesses
        return writer

    # --- how it differs from other writers ------------------------------------------------------------------------

    @property
    def names(self) -> None:
        """A word is not written in place of another: where the source is cut depends on what the model wrote."""
        return

    def forbidden(self, word_begun: list[int], may_end: bool = False) -> Flags:
        """Between words, while the speaker goes on: a sentence that has words may end with a separator. Outside of
        drafts (`may_end`), which their policies judge, the model may also ask for more to be read."""
        if word_begun or self.closing is not None:
            return super().forbidden(word_begun, may_end)
        flags = self.model.forbidden.word_start
        if self.must_write:
            return flags
        flags = flags.copy()
        flags[SEP_ID] = not may_end and not self.target.words
        flags[MORE_ID] = may_end
        return flags

    def reads_as_history(self) -> list[int]:
        """With what had been read at the separator."""
        return [*self.reads, self.source.words]

    def _scores(self, word_begun: list[int]) -> Steps[tuple[DecoderState, Logits, int]]:
        before = self._decoded
        state, logits, limit = yield from super()._scores(word_begun)
        self._row = _LastRow(before, logits)
        return state, logits, limit

    def _beam(self) -> Steps[list[int]]:
        if not self.plan and self.closing is None and not self.must_write:
            memory = yield from self.read_all()
            peeked = self._peeked
            if peeked is None or peeked.request.memory is not memory:
                request = DecodeRequest(*self._unfed_with(memory, []))
                ((state, logits),) = yield [request]
                peeked = self._peeked = Peek(request, state, logits)
            if best_allowed(peeked.logits, self.forbidden([])) in STOPPING_IDS:
                # Whether to go on is the model's decision, not that of a search, which prefers early ends.
                self._row = _LastRow(self._decoded, peeked.logits)
                self._decoded, self._peeked = peeked.state, None
                return []
        pieces = yield from super()._beam()
        return pieces

    def searches_at_once(self) -> bool:
        # The scores of the first row are looked at, and more pieces are allowed.
        return False

    def _encodes_at_reads(self) -> bool:
        # A word that the policy allows is computed, and may come out as "more has to be read".
        return True

    def _reach(self, window: Window, encoder: Encoder) -> Ints:
        # What had been read at the last separator beyond its sentence, and what had been at the first word since.
        past = zip(self.history.reads, self.history.source, strict=True)
        before = [0, *(reads[-1] - source.words for reads, source in past)]
        first = [*self.history.first_blocks(), self.reads[0] if self.reads else self.source.words]
        return flowing_reach(window, np.array(before), np.array(first), encoder)

    def _limits_of_history(self, read: int) -> Ints:
        """As training has it, rows of the history see what was read at their time, also of later sentences."""
        target_past = self.history.target_sentences()
        if not target_past:
            return np.zeros(0, dtype=np.int64)
        counts = [
            np.append(np.repeat(reads[:-1], sentence.pieces), reads[-1])
            for reads, sentence in zip(self.history.reads, target_past, strict=True)
        ]
        window = self._source_window(self.source, self.closing)
        seen = words_limit(window, target_rows(target_past).sentence, np.concatenate(counts))
        return np.minimum(seen, read)
