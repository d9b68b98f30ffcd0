"""Sentences that the model ends itself: what is written when there is no segmenter (docs/decisions/036).

The *active* source is all that was read since the last cut. The policy counts in it as it counts in a sentence. What
the model writes where it writes no word decides what happens next:

- a separator: the sentence is over. The active source is cut where the translation ends (`cutting`, `reverse`), and
  what is left of it begins the next sentence;
- "more": the next word is read. After `MOST_WAITS` times in a row the history is dropped, which may be what confuses
  the model; and once the stream is `max_lag` words behind, the model has to write.

A sentence of `MOST_WORDS` words is cut without a separator, so what a stream remembers stays bounded in any case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from turia.engine.backend import Steps, run_steps
from turia.engine.cutting import attention_scores, best_cut, furthest, length_scores
from turia.engine.flow import FlowWriter
from turia.engine.model import Model, without_rows
from turia.engine.reverse import reverse_scores
from turia.engine.sentence import CurrentSentence
from turia.errors import InputError, ModelError
from turia.policy.base import Draft, LookingPolicy, Situation
from turia.segmenter.online import FreeSegmenter, Reason, Segmenter
from turia.stream.trace import Note, Record
from turia.text.symbols import SEP_ID

if TYPE_CHECKING:
    from turia.engine.stream import Stream

MOST_WORDS = 100
"""Of a sentence that finds no separator."""
MOST_WAITS = 5
"""READs in a row at which the model has nothing to write, before the history is dropped."""


@dataclass
class FreeSentence(CurrentSentence):
    """The active source, and its translation so far."""

    writer: FlowWriter
    waits: int = 0
    """READs in a row at which the policy let the model write, and it asked for more."""
    ending: list[str] = field(default_factory=list)
    """The sentence that the newest draft would have made, if that ended in a separator."""
    over: Reason | None = None
    """Why the sentence is over; for a moment, until the source is cut."""

    def write_allowed(self, records: list[Record]) -> Steps[None]:
        """Writes what the policy allows by now, until the model ends the sentence (`over`)."""
        yield from super().write_allowed(records)
        if self.muted:
            self.over = Reason.FORCED

    def _write_word(self, reason: str, records: list[Record]) -> Steps[bool]:
        more = yield from super()._write_word(reason, records)
        if more or self.muted or self.over:
            self.waits = 0
            return more
        symbol = yield from self.writer.stopping_symbol()
        self.writer.forget_row()
        if symbol == SEP_ID and self.words:
            self.over = Reason.FREE
        elif self.writer.closing is None:
            return (yield from self._wait(records))
        return False

    def _wait(self, records: list[Record]) -> Steps[bool]:
        """Waits for the next word, as the model asks for more, unless the stream is too far behind."""
        writer = self.writer
        if self._situation().lag >= writer.settings.max_lag:
            writer.must_write = True
            more = yield from super()._write_word("max-lag", records)
            writer.must_write = False
            return more
        self.waits += 1
        if self.waits == MOST_WAITS and writer.history.source:
            self._note("history-dropped", f"the model asked for more at {MOST_WAITS} words in a row", records)
            writer.history.drop()
            self.writer = writer.without_history()
        return False

    def _cut(self, records: list[Record]) -> bool:
        if len(self.words) >= MOST_WORDS:
            self._note("no-separator", f"cut after {len(self.words)} words", records)
            self.over = Reason.FORCED
            return True
        return super()._cut(records)

    def _kept(self, policy: LookingPolicy, at: Situation, draft: Draft) -> int:
        """A separator is written when the policy has kept all words before it, or when two drafts in a row agree on
        the whole sentence: policies that hold words back would never come to its end."""
        kept = super()._kept(policy, at, draft)
        sentence = [*self.words, *(word.text for word in draft.words)] if draft.complete else []
        agreed = sentence == self.ending
        self.ending = sentence
        if sentence and (agreed or kept == len(draft.words)):
            self.over = Reason.FREE
            return len(draft.words)
        return kept

    def _note(self, kind: str, text: str, records: list[Record]) -> None:
        records.append(Note(kind, self.counts.sentence, text))


def write_free(stream: Stream, records: list[Record]) -> Steps[None]:
    """Writes what the policy allows, through as many sentences as the model ends."""
    while True:
        sentence = _current(stream)
        yield from sentence.write_allowed(records)
        if sentence.over is None:
            return
        words = yield from cut_place(stream)
        stream.finish(sentence.over, records, words)


def write_free_rest(stream: Stream, closing: int, reason: str, records: list[Record]) -> Steps[None]:
    """The speaker has stopped: all that was read is written to its end. Leaves the last sentence as the current one."""
    while True:
        sentence = _current(stream)
        yield from sentence.write_rest(closing, reason, records)
        if sentence.over is None or sentence.muted:
            return
        words = yield from cut_place(stream)
        if words == sentence.writer.source.words:
            return
        stream.finish(sentence.over, records, words)


def cut_place(stream: Stream) -> Steps[int]:
    """How many words of the active source belong to the sentence that is over; all, if a guard has stopped it."""
    sentence, model = _current(stream), stream.model
    writer = sentence.writer
    read, written = writer.source.words, len(sentence.words)
    if sentence.muted or not written:
        return read
    scores = length_scores(read, written, writer.settings.gamma)
    segmenter = stream.segmenter
    if isinstance(segmenter, FreeSegmenter) and segmenter.cut == "reverse":
        assert model.reverse is not None
        heard = source_words(stream)[: furthest(written, writer.settings.gamma)]
        # Another model than the stream's: its steps cannot join the batch.
        found = run_steps(reverse_scores(model.reverse, sentence.words, heard), model.reverse.backend)
        known = np.full(read, -np.inf)
        known[: len(found)] = found
    else:
        known = attention_scores((yield from writer.look_back()))
    return best_cut(scores + known if np.isfinite(known).any() else scores)


def check_cut(model: Model, segmenter: Segmenter) -> None:
    """Refuses to cut by a model that is not there."""
    if isinstance(segmenter, FreeSegmenter) and segmenter.cut == "reverse":
        if model.reverse is None:
            raise InputError(
                f"{model.name}: the source is to be cut by a reverse model, and none is loaded: give --reverse-model "
                "(reverse_model in Python), or cut by attention"
            )
        if not model.reverse.backend.can_look:
            raise ModelError(without_rows(model.reverse.name, "a reverse model"))


def source_words(stream: Stream) -> list[str]:
    """The words of the active source as the model reads them; empty where one normalised to nothing."""
    source, subwords = stream.current.writer.source, stream.model.source_subwords
    ends = np.cumsum(source.pieces)
    places = zip(ends - np.array(source.pieces), ends, strict=True)
    return [" ".join(subwords.decode_words(source.ids[begin:end])).replace(" ", "") for begin, end in places]


def _current(stream: Stream) -> FreeSentence:
    assert isinstance(stream.current, FreeSentence)
    return stream.current
