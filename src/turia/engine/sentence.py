"""The sentence being spoken, and the words that are written of it: the policy is asked, then the guards.

The three kinds of policies (turia.policy.base) are asked in three ways:

- `CountingPolicy`: may the next word be written? If so, the writer searches for it.
- `LookingPolicy`: the writer drafts what could follow; how much of the draft is kept?
- `LearnedPolicy`: may the next word be written, given the states of the model?

When the sentence is over, no policy is asked: its translation is written to its end (`write_rest`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from turia.engine.backend import Steps
from turia.engine.draft import Drafted, make_draft
from turia.engine.tail import OwedWord
from turia.engine.writer import SpelledWord, Writer
from turia.policy.base import CountingPolicy, Draft, DraftWord, LearnedPolicy, LookingPolicy, Memory, Situation
from turia.policy.guards import degenerate, length_limit, loops
from turia.policy.waitk import words_needed
from turia.stream.trace import Note, Record, Write


@dataclass
class StreamCounts:
    """How far a stream has come."""

    read: int = 0
    """Source words so far."""
    written: int = 0
    """Target words so far."""
    sentence: int = 0
    """The sentence being spoken, counted from 0."""
    replaced: int = 0
    """Words that did not reach the model as they were given (too long, no text, or in another script)."""


@dataclass
class CurrentSentence:
    """The sentence being spoken, and its translation so far."""

    writer: Writer
    """Has its source and target in pieces."""
    counts: StreamCounts
    """Of the stream, which go on with each word that is written here."""
    start: int = 0
    """Source words of the sentences before it."""
    words: list[str] = field(default_factory=list)
    """Target words that were written."""
    delays: list[int] = field(default_factory=list)
    """Source words of the sentence, and after it, that had been read when each of the target words was written."""
    muted: bool = False
    """Whether a guard has stopped its translation."""
    memory: Memory = field(default_factory=dict)
    """What a policy remembers within the sentence."""
    owed: list[OwedWord] = field(default_factory=list)
    """Words that a recogniser's tail let out ahead of their time, oldest first."""

    # --- what is written when --------------------------------------------------------------------------------------

    def write_allowed(self, records: list[Record]) -> Steps[None]:
        """Writes what the policy allows by now."""
        policy = self.writer.settings.policy
        if not self._can_write():
            return
        if isinstance(policy, CountingPolicy):
            more = True
            while more and not self.muted and policy.may_write(self._situation()):
                more = yield from self._write_word("policy", records)
        elif isinstance(policy, LearnedPolicy):
            yield from self._ask_heads(policy, records)
        else:
            assert isinstance(policy, LookingPolicy)
            yield from self._look(policy, records)

    def write_rest(self, closing: int, reason: str, records: list[Record]) -> Steps[None]:
        """Writes the translation to its end: the sentence is over, and the symbol `closing` ends its source."""
        self.writer.closing = closing
        more = self._can_write()
        while more and not self.muted:
            more = yield from self._write_word(reason, records)

    def is_degenerate(self, source_words: int) -> bool:
        """Whether the pair looks so wrong that it would mislead the next sentences as history."""
        return self.muted or degenerate(source_words, self.words, self.writer.settings.gamma)

    def _can_write(self) -> bool:
        return bool(self.writer.source.ids) and not self.muted

    def _write_word(self, reason: str, records: list[Record]) -> Steps[bool]:
        """Writes one word, unless a guard stops the sentence or it has no more: then False."""
        owed = self.owed[0] if self.owed else None
        # A word that went out has passed the guards.
        if owed is None and self._cut(records):
            return False
        word = yield from self.writer.write_word()
        if owed is not None and word != owed.text:
            self.writer.insist(owed.pieces, instead=word is not None)
            word = owed.text
        if word is None:
            return False
        self._record_word(word, reason, records)
        return True

    # --- policies that look at more than counts --------------------------------------------------------------------

    def _ask_heads(self, policy: LearnedPolicy, records: list[Record]) -> Steps[None]:
        """Writes words for as long as the policy's heads say so."""
        writer, heads, memory = self.writer, self.writer.model.heads, self.memory
        source = yield from writer.source_state()
        wanted = policy.wants_row(self._situation(), source, heads, memory)
        more = True
        while more and not self.muted:
            at = self._situation()
            overdue = at.lag >= writer.settings.max_lag
            if _most_words(at) == 0 or not (wanted or overdue):
                return
            may = False
            if wanted:
                target = yield from writer.target_row()
                wanted = may = policy.may_write(at, source, target, heads, memory)
            if not may and not overdue:
                return
            if not may:
                policy.overrule(memory)
            more = yield from self._write_word("policy" if may else "max-lag", records)

    def _look(self, policy: LookingPolicy, records: list[Record]) -> Steps[None]:
        """Drafts what could follow, and commits as much of it as the policy keeps."""
        writer, at = self.writer, self._situation()
        overdue = at.lag >= writer.settings.max_lag
        if not overdue and not policy.wants_draft(at):
            return
        most = _most_words(at)
        if most == 0 or (not self.owed and self._cut(records)):
            return
        drafted = yield from make_draft(writer, policy, at, most)
        draft = drafted.draft
        kept = self._kept(policy, at, draft)
        reason = "policy"
        if kept == 0 and overdue and draft.words:
            kept, reason = 1, "max-lag"
        kept, insisted = self._insist(drafted, kept)
        for number, word in enumerate(insisted.draft.words[:kept]):
            if number and not self.owed and self._cut(records):
                kept = number
                break
            self._record_word(word.text, reason, records)
        if kept:
            writer.commit(insisted, kept)
        if insisted is not drafted:
            writer.drafting.guess, writer.drafting.margins = [], []
        if insisted is not drafted or reason == "max-lag":
            policy.overrule(self.words, self.memory)

    def _kept(self, policy: LookingPolicy, at: Situation, draft: Draft) -> int:
        """How many words of the draft are committed."""
        return min(policy.keep(at, draft, self.memory), len(draft.words))

    def _insist(self, drafted: Drafted, kept: int) -> tuple[int, Drafted]:
        """How many words are committed, and of which draft. Words that were sent early stay, whatever it has there; and
        names are spelt as they were said."""
        words, before = drafted.draft.words, list(self.writer.target.ids)
        for number, word in enumerate(words[:kept]):
            instead: OwedWord | SpelledWord | None
            if number < len(self.owed):
                instead = None if word.text == self.owed[number].text else self.owed[number]
            else:
                instead = self.writer.as_said(word.text, before)
            if instead is not None:
                written = DraftWord(instead.text, instead.pieces, 0.0, 0.0)
                return number + 1, replace(drafted, draft=Draft((*words[:number], written), complete=False))
            before += word.pieces
        return kept, drafted

    # --- the recogniser's tail (turia.engine.tail) -----------------------------------------------------------------

    def write_owed(self) -> Steps[int | None]:
        """Writes what is owed, for a copy of a stream. Gives the words that the writer may then be asked for.

        None if there is nothing to write from.
        """
        writer = self.writer
        if not self._can_write():
            return None
        yield from writer.read_all()
        for owed in self.owed:
            writer.insist(owed.pieces, instead=False)
        return _most_words(Situation(writer.source.words, writer.target.words, writer.settings.gamma))

    def commit_ahead(self, words: Sequence[OwedWord], reasons: Iterable[str]) -> list[Record]:
        """Sends these words out now. They are owed until the final words lead to them."""
        records: list[Record] = []
        for word, reason in zip(words, reasons, strict=False):
            self.owed.append(word)
            self._put_out(word.text, reason, records)
        return records

    # --- records ---------------------------------------------------------------------------------------------------

    def _record_word(self, word: str, reason: str, records: list[Record]) -> None:
        self.words.append(word)
        # As the final words alone give it, whatever a tail let out before: what is written depends on the lag.
        self.delays.append(self.counts.read - self.start)
        if self.owed:
            # It is in the records already.
            del self.owed[0]
            return
        self._put_out(word, reason, records)

    def _put_out(self, word: str, reason: str, records: list[Record]) -> None:
        counts = self.counts
        records.append(Write(word, counts.written, counts.read, counts.sentence, reason))
        counts.written += 1

    def _situation(self) -> Situation:
        return Situation(self.writer.source.words, len(self.words), self.writer.settings.gamma)

    def _cut(self, records: list[Record]) -> bool:
        """Whether a guard stops this sentence here."""
        writer = self.writer
        limit = length_limit(writer.source.words, writer.settings.gamma)
        if loops(self.words):
            cause = ("loop", f"cut after {len(self.words)} words: {' '.join(self.words[-6:])}")
        elif len(self.words) >= limit:
            cause = ("length", f"cut at {limit} words for {writer.source.words} source words")
        elif not writer.has_room():
            cause = ("positions", f"cut after {len(self.words)} words: no room in the model")
        else:
            return False
        records.append(Note(cause[0], self.counts.sentence, cause[1]))
        self.muted = True
        return True


def _most_words(at: Situation) -> int:
    """Words that may be added now: no more than wait-1 would have written, as no model has learned to write more."""
    words = 0
    while at.read >= words_needed(at.written + words + 1, 1, at.gamma):
        words += 1
    return words
