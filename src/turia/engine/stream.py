"""The core: source words in, committed target words out (no clock, socket, thread or file in it).

    push(word) → segmenter → released words → policy → Writer → records (turia.stream.trace)

A record is an event: a committed word, the end of a sentence, a note of what a guard did. Words come in the order in
which they are spoken; nothing that came out is ever taken back. The work of a stream is a generator of model steps,
so that one driver (`push`) runs it alone and another (`batcher`) runs the steps of many streams as one batch.

Here are the order of events, the sentences' ends and the settings. What a word becomes for the model is in
`source_words`, what is written of a sentence and when in `sentence`, how a stream is saved in `state`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import repeat
from typing import Any

from turia.engine.backend import Steps, run_steps
from turia.engine.casing import recased
from turia.engine.flow import FlowWriter
from turia.engine.free import FreeSentence, check_cut, write_free, write_free_rest
from turia.engine.model import Model
from turia.engine.sentence import CurrentSentence, StreamCounts
from turia.engine.settings import Settings, fitting
from turia.engine.shared import SharedSource
from turia.engine.source_words import shortened, source_word
from turia.engine.state import restored, stream_state
from turia.engine.tail import LONGEST_TAIL, Ghost, OwedWord, Partial, Tentative, partial_steps
from turia.engine.terms import check_glossary
from turia.engine.window import History
from turia.engine.writer import Writer
from turia.errors import InputError
from turia.policy.base import LearnedPolicy, LookingPolicy
from turia.policy.lag import LagController
from turia.policy.waitk import WaitK
from turia.segmenter.online import FreeSegmenter, Reason, ReleasedWord, Segmenter
from turia.stream.trace import End, Note, Record, SentenceEnd, Write
from turia.text.glossary import Glossary
from turia.text.layout import closing_symbol


class Stream:
    """One stream of words, being translated."""

    def __init__(self, model: Model, segmenter: Segmenter, settings: Settings) -> None:
        self.model, self.segmenter = model, segmenter
        self.free = segmenter.reason is Reason.FREE
        """Whether the model ends sentences itself, without a segmenter (turia.engine.free)."""
        self.settings = fitting(model, settings, self.free)
        check_cut(model, segmenter)
        self.pending_settings: Settings | None = None
        """From the next sentence on."""
        self.ended = False
        self.counts = StreamCounts()
        self.history = History(flowing=self.free)
        self.shared: SharedSource | None = None
        self.current = self._new_sentence(0)
        self.lag = LagController()
        self.ghosts: list[Ghost] = []
        """Of the newest tail; forgotten with the next input."""
        self._whole = True
        """False while a piece of work is under way, and for ever after one that broke off."""

    # --- for callers ----------------------------------------------------------------------------------------------

    def push(self, word: str, seconds: float | None = None) -> list[Record]:
        """The next source word in; what it lets the translator say out. White space inside parts words.

        `seconds` is when it was spoken, by any clock; only a target lag in seconds needs it.
        """
        return run_steps(self.push_steps(word, seconds), self.model.backend)

    def push_partial(self, text: str) -> Partial:
        """What the recogniser hears after the words that were pushed, and may still revise: its whole unstable tail.

        It can let words out earlier and changes nothing else (turia.engine.tail). Each call replaces the tail of the
        one before; the next `push`, `push_pause` or `flush` ends it. An empty text says that there is no tail.
        """
        return run_steps(self.partial_steps(text), self.model.backend)

    def push_pause(self) -> list[Record]:
        """The speaker stopped for a while: the sentence is over, and its rest is written."""
        return run_steps(self.pause_steps(), self.model.backend)

    def flush(self) -> list[Record]:
        """The stream is over: all that is left is written, then an `End` record. Nothing may be pushed afterwards."""
        return run_steps(self.flush_steps(), self.model.backend)

    def change(self, **settings: Any) -> None:
        """New settings (k, gamma, history, ...) from the next sentence on; before the first word, from the first one.

        A note of kind "settings" tells the sentence from which they hold.
        """
        chosen = fitting(self.model, self._chosen().changed(**settings), self.free)
        check_glossary(self.model, chosen.glossary)
        self.pending_settings = chosen
        self.ghosts.clear()

    def share(self, source: SharedSource) -> None:
        """From now on, what is encoded is shared with all streams that have this `source`: those of the same model that
        are given the same words."""
        self.shared = self.current.writer.shared = source

    def header(self) -> dict[str, Any]:
        """The settings, for the first line of a trace."""
        settings = self.settings if self.read else self._chosen()
        policy = settings.policy
        limited = self.free or isinstance(policy, LookingPolicy | LearnedPolicy)
        return {
            "model": self.model.name,
            **({"files": self.model.fingerprint} if self.model.fingerprint else {}),
            "policy": str(policy),
            **({"k": policy.k} if isinstance(policy, WaitK) else {}),
            "gamma": settings.gamma,
            "history": settings.history,
            **({"rounding": policy.rounding} if isinstance(policy, WaitK) else {}),
            **({"max_lag": settings.max_lag} if limited else {}),
            **({"target_lag": str(settings.target_lag)} if settings.target_lag else {}),
            **({"glossary": str(settings.glossary)} if settings.glossary else {}),
            "encoding": settings.encoding,
            **({"first_block": settings.first_block} if settings.first_block else {}),
            "recompute": settings.recompute,
            **({"beam": settings.beam, "lookahead": settings.lookahead} if settings.beam > 1 else {}),
            "window": self.segmenter.window,
            "segmenter": str(self.segmenter.reason),
            **({"cut": self.segmenter.cut} if isinstance(self.segmenter, FreeSegmenter) else {}),
            "units": "words",
        }

    @property
    def glossary(self) -> Glossary | None:
        """The one chosen last; it holds from the next sentence on."""
        return self._chosen().glossary

    @property
    def read(self) -> int:
        """Source words so far."""
        return self.counts.read

    @property
    def written(self) -> int:
        """Target words so far."""
        return self.counts.written

    @property
    def sentence(self) -> int:
        """The sentence being spoken, counted from 0."""
        return self.counts.sentence

    @property
    def replaced(self) -> int:
        """Words that did not reach the model as they were given (too long, no text, or in another script)."""
        return self.counts.replaced

    def finished_words(self) -> tuple[int, int]:
        """Source and target words of the sentences that are complete."""
        sentence = self.current
        source = sentence.writer.source.words + len(self.segmenter.pending)
        return self.read - source, self.written - len(sentence.words) - len(sentence.owed)

    def state(self) -> dict[str, Any]:
        """Everything that `restore` needs to go on with the same words, as plain JSON data."""
        self._refuse_if_broken()
        return stream_state(self)

    @classmethod
    def restore(cls, model: Model, segmenter: Segmenter, state: dict[str, Any]) -> Stream:
        """A stream that goes on where `state` was taken; `segmenter` is a new one of the same kind."""
        return restored(cls, model, segmenter, state)

    # --- the work, as model steps ---------------------------------------------------------------------------------

    def push_steps(self, word: str, seconds: float | None = None) -> Steps[list[Record]]:
        """`push` for a driver of many streams."""
        # Ghosts do not know the times of their words, on which it depends how a lag is kept: they also say which
        # sentences are those of the last minutes.
        timed = seconds is not None and self._chosen().target_lag is not None
        if self.ghosts and self.ghosts[0].word == word and not timed:
            return self._become(self.ghosts[0])
        return self._work(self._push(word, seconds), word)

    def partial_steps(self, text: str) -> Steps[Partial]:
        """`push_partial` for a driver of many streams."""
        self._refuse_unless_open(text)
        if self.free:
            return self._show_only(text)
        # Where this breaks off, nothing was committed: the stream itself goes on.
        return partial_steps(self, text)

    def pause_steps(self) -> Steps[list[Record]]:
        """`push_pause` for a driver of many streams."""
        return self._work(self._pause())

    def flush_steps(self) -> Steps[list[Record]]:
        """`flush` for a driver of many streams."""
        return self._work(self._flush())

    def _work(self, steps: Steps[list[Record]], word: str = "") -> Steps[list[Record]]:
        """Runs `steps` to their end. Where they break off, by an error or an interrupt, the stream is of no more use.

        Words of it may be half written then: to go on would give other words than those of an unbroken stream.
        """
        self._refuse_unless_open(word)
        self.ghosts.clear()
        self.segmenter.expect(len(word.split()))
        # Whoever drives the steps may fail between two of them, of which this generator hears nothing.
        self._whole = False
        records = yield from steps
        self._whole = True
        return records

    def _refuse_unless_open(self, word: str) -> None:
        self._refuse_if_broken()
        if self.ended:
            raise InputError("the stream has ended; begin a new one")
        if not isinstance(word, str):
            raise InputError(f"a word is a str, not {type(word).__name__}")

    def _refuse_if_broken(self) -> None:
        if not self._whole:
            raise InputError(
                "the stream broke off in the middle of its work; begin a new one, or restore a state of it"
            )

    def _push(self, word: str, seconds: float | None) -> Steps[list[Record]]:
        records: list[Record] = []
        if seconds is not None and self._chosen().target_lag is not None:
            self.lag.heard(self.read + len(word.split()), seconds)
        for part in word.split():
            self.counts.read += 1
            for released in self.segmenter.push(shortened(part)):
                yield from self._take(released, records)
        return records

    def _pause(self) -> Steps[list[Record]]:
        records: list[Record] = []
        for released in self.segmenter.push_pause():
            yield from self._take(released, records)
        return records

    def _flush(self) -> Steps[list[Record]]:
        self.ended = True
        records: list[Record] = []
        for released in self.segmenter.flush():
            yield from self._take(released, records)
        records.append(End(self.read, self.written))
        return records

    # --- words and sentences --------------------------------------------------------------------------------------

    def _take(self, released: ReleasedWord, records: list[Record]) -> Steps[None]:
        """A word becomes visible to the translator, or a sentence is closed."""
        if released.word is not None:
            pieces = self._pieces(released.word, records, released.ends_sentence)
            if not self._fits(pieces):
                cut = f"cut after {self.current.writer.source.words} words"
                records.append(Note("long-sentence", self.sentence, cut))
                yield from self._close(Reason.FORCED, records)
            self._take_settings(records)
            self.current.writer.read(released.word, pieces)
        if released.reason is not None:
            yield from self._close(released.reason, records)
        elif self.free:
            yield from write_free(self, records)
        else:
            yield from self.current.write_allowed(records)

    def _pieces(self, word: str, records: list[Record], ends: bool = False) -> tuple[int, ...]:
        """The pieces of a source word; none if it normalises to nothing."""
        if self.model.recases:
            begins = self.current.writer.source.words == 0
            word = recased(word, self.model.source_subwords, begins=begins, ends=ends)
        pieces, problem = source_word(self.model, word)
        if problem is not None:
            self.counts.replaced += 1
            records.append(Note(problem.kind, self.sentence, problem.text))
        return pieces

    def _fits(self, pieces: tuple[int, ...]) -> bool:
        """Whether the sentence may grow by `pieces` within the model's positions."""
        return len(self.current.writer.source.ids) + len(pieces) <= self.model.sentence_positions

    def _close(self, reason: Reason, records: list[Record]) -> Steps[None]:
        """The sentence is complete: its rest is written, and it becomes history."""
        if self.current.writer.source.words == 0:
            return
        closing = closing_symbol(ends_document=reason is Reason.END)
        why = "flush" if self.ended else "catch-up"
        if self.free:
            yield from write_free_rest(self, closing, why, records)
        else:
            yield from self.current.write_rest(closing, why, records)
        self.finish(reason, records, self.current.writer.source.words)

    def finish(self, reason: Reason, records: list[Record], words: int) -> None:
        """The sentence, of the first `words` words of the source, becomes history. The rest begins the next one."""
        sentence = self.current
        writer = sentence.writer
        source, rest = writer.source.split(words)
        records.append(SentenceEnd(self.sentence, words, len(sentence.words), str(reason)))
        if sentence.is_degenerate(words):
            records.append(Note("history-dropped", self.sentence, "the sentence looks degenerate"))
            self.history.drop()
        elif sentence.words:
            self.history.add(source, writer.target, writer.reads_as_history())
        else:
            self.history.skip()
        self.counts.sentence += 1
        self._keep_lag(words, sentence.delays)
        self.current = self._new_sentence(sentence.start + words)
        if rest.words:
            self._take_settings(records)
            self.current.writer.source = rest

    def _new_sentence(self, start: int) -> CurrentSentence:
        writer = self._new_writer()
        if isinstance(writer, FlowWriter):
            return FreeSentence(writer, self.counts, start)
        return CurrentSentence(writer, self.counts, start)

    def _new_writer(self) -> Writer:
        # What the next sentence may ask for is kept.
        self.history.trim(self._chosen().history, self.model.history_positions)
        kind = FlowWriter if self.free else Writer
        return kind(self.model, self.settings, self.history, shared=self.shared)

    # --- settings -------------------------------------------------------------------------------------------------

    def _chosen(self) -> Settings:
        return self.pending_settings or self.settings

    def _take_settings(self, records: list[Record]) -> None:
        """With its first word, a sentence gets the settings that were chosen last."""
        if self.pending_settings is None or self.current.writer.source.words:
            return
        old, new = self.settings.listed(), self.pending_settings.listed()
        if changes := [f"{name} {value}" for name, value in new.items() if value != old.get(name)]:
            records.append(Note("settings", self.sentence, ", ".join(changes)))
        self.settings, self.pending_settings = self.pending_settings, None
        self.current.writer = self._new_writer()

    def _keep_lag(self, source_words: int, delays: Sequence[int]) -> None:
        """With a target lag: chooses the policy of the next sentence."""
        chosen = self._chosen()
        if chosen.target_lag is None:
            return
        self.lag.sentence(source_words, delays)
        policy = self.lag.next_policy(chosen.policy, chosen.target_lag)
        if policy != chosen.policy:
            self.pending_settings = chosen.changed(policy=policy)

    # --- the recogniser's tail (turia.engine.tail) ----------------------------------------------------------------

    def _show_only(self, text: str) -> Steps[Partial]:
        """Without a segmenter a tail decides nothing: how the source is cut would depend on it."""
        return Partial([], Tentative(tuple(text.split()[:LONGEST_TAIL])))
        yield  # a generator without steps

    def fork(self) -> Stream:
        """A stream that goes on from here by itself. Models, settings and states of the model are values: shared."""
        writer = self.current.writer
        values = (self.model, self.settings, writer.model, writer.settings, *writer.states())
        return deepcopy(self, {id(value): value for value in values} | {id(self.ghosts): []})

    def read_final(self) -> Steps[tuple[Writer, int] | None]:
        """Reads the words that the segmenter holds back, as if the sentence went on, and writes what is owed.

        For a copy of a stream, which is of no use afterwards. Gives the writer, and the words that it may be asked for;
        None if there is nothing to write from.
        """
        records: list[Record] = []
        for number, word in enumerate(self.segmenter.pending):
            pieces = self._pieces(word, records)
            # If the sentence should end with this word, its translation needs something to stand for.
            if not self._fits(pieces) or (number == 0 and not self.current.writer.source.ids and not pieces):
                return None
            self._take_settings(records)
            self.current.writer.read(word, pieces)
        most = yield from self.current.write_owed()
        return None if most is None else (self.current.writer, most)

    def commit_ahead(self, words: Sequence[OwedWord], reasons: Iterable[str]) -> list[Record]:
        """Lets these words of the sentence out now; they are owed until the final words come to them."""
        for ghost in self.ghosts:
            # Some have not come to these words: they owe them too.
            ghost.stream.commit_ahead(words[ghost.stream.written - self.written :], repeat(""))
        return self.current.commit_ahead(words, reasons)

    def _become(self, ghost: Ghost) -> Steps[list[Record]]:
        """The first word of the tail is final: what the ghost did for it is done."""
        self._refuse_unless_open(ghost.word)
        ghosts, out = self.ghosts[1:], self.written
        vars(self).update(vars(ghost.stream), ghosts=ghosts)
        return [record for record in ghost.records if not isinstance(record, Write) or record.index >= out]
        yield  # a generator without steps
