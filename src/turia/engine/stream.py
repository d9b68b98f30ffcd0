"""The core: source words in, committed target words out (no clock, socket, thread or file in it).

    push(word) → segmenter → visible words → policy → Writer → records (turia.stream.trace)

A record is an event: a committed word, the end of a sentence, a note of what a guard did. Words come in the order in
which they are spoken; nothing that came out is ever taken back. The work of a stream is a generator of model steps,
so that one driver (`push`) runs it alone and another (`batcher`) runs the steps of many streams as one batch.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np

from turia.engine.backend import Steps, run_steps
from turia.engine.draft import Drafted, Drafting, make_draft
from turia.engine.model import Model, without_attention
from turia.engine.settings import Settings
from turia.engine.tail import Ghost, OwedWord, Partial, partial_steps
from turia.engine.window import History, PartialSentence, are_reads
from turia.engine.writer import REPLACEMENT, Writer
from turia.errors import ConfigError, InputError, ModelError
from turia.policy.base import (
    CountingPolicy,
    Draft,
    DraftWord,
    LearnedPolicy,
    LookingPolicy,
    Memory,
    Situation,
    check_heads,
)
from turia.policy.guards import degenerate, length_limit, loops
from turia.policy.lag import LagController
from turia.policy.waitk import WaitK, words_needed
from turia.policy.whole import Whole
from turia.segmenter.online import Reason, ReleasedWord, Segmenter, is_words
from turia.stream.trace import End, Note, Record, SentenceEnd, Write
from turia.text.layout import closing_symbol
from turia.text.normalise import clean_word, normalise_word
from turia.text.subwords import Subwords
from turia.text.symbols import UNK_ID, WORD_END

STATE_VERSION = 2
_READABLE_STATES = (1, 2)
"""1 is of release 0.1, whose only policy was wait-k."""
LONGEST_INPUT = 200
"""Letters of a source word that are looked at; nobody says longer ones."""
MOST_PIECES = 64
"""Of a source word; a longer one is cut."""


class Stream:
    """One stream of words, being translated."""

    def __init__(self, model: Model, segmenter: Segmenter, settings: Settings) -> None:
        self.model, self.segmenter = model, segmenter
        self.settings = _fitting(model, settings)
        self.read = 0
        """Source words so far."""
        self.written = 0
        """Target words so far."""
        self.sentence = 0
        """The sentence being spoken, counted from 0."""
        self.replaced = 0
        """Words that did not reach the model as they were given (too long, or not text)."""
        self.ended = False
        self._whole = True
        """False while a piece of work is under way, and for ever after one that broke off."""
        self._pending_settings: Settings | None = None
        self._history = History()
        self._writer = self._new_writer()
        self._words: list[str] = []
        self._muted = False
        self._policy_memory: Memory = {}
        self._owed: list[OwedWord] = []
        """Words of this sentence that a recogniser's tail let out ahead of their time, oldest first."""
        self.ghosts: list[Ghost] = []
        """Of the newest tail; forgotten with the next input."""
        self._closed_words = 0
        """Source words of finished sentences."""
        self._delays: list[int] = []
        """Source words of the sentence, and after it, that had been read when each of its target words was written."""
        self._lag = LagController()

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
        self._pending_settings = _fitting(self.model, self._chosen().changed(**settings))
        self.ghosts.clear()

    def header(self) -> dict[str, Any]:
        """The settings, for the first line of a trace."""
        settings = self.settings if self.read else self._chosen()
        policy = settings.policy
        return {
            "model": self.model.name,
            **({"files": self.model.fingerprint} if self.model.fingerprint else {}),
            "policy": str(policy),
            **({"k": policy.k} if isinstance(policy, WaitK) else {}),
            "gamma": settings.gamma,
            "history": settings.history,
            **({"rounding": policy.rounding} if isinstance(policy, WaitK) else {}),
            **({"max_lag": settings.max_lag} if isinstance(policy, LookingPolicy | LearnedPolicy) else {}),
            **({"target_lag": str(settings.target_lag)} if settings.target_lag else {}),
            "encoding": settings.encoding,
            "recompute": settings.recompute,
            **({"beam": settings.beam, "lookahead": settings.lookahead} if settings.beam > 1 else {}),
            "window": self.segmenter.window,
            "segmenter": str(self.segmenter.reason),
            "units": "words",
        }

    def finished_words(self) -> tuple[int, int]:
        """Source and target words of the sentences that are complete."""
        source = self._writer.source.words + len(self.segmenter.pending)
        return self.read - source, self.written - len(self._words) - len(self._owed)

    # --- the work, as model steps ---------------------------------------------------------------------------------

    def push_steps(self, word: str, seconds: float | None = None) -> Steps[list[Record]]:
        """`push` for a driver of many streams."""
        # Ghosts do not know the times of their words, on which a lag in seconds depends.
        target = self._chosen().target_lag
        if self.ghosts and self.ghosts[0].word == word and (target is None or target.unit == "words"):
            return self._become(self.ghosts[0])
        return self._work(self._push(word, seconds), word)

    def partial_steps(self, text: str) -> Steps[Partial]:
        """`push_partial` for a driver of many streams."""
        self._refuse_unless_open(text)
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
            self._lag.heard(self.read + len(word.split()), seconds)
        for part in word.split():
            self.read += 1
            # A longer one would be looked at, and kept in the state, for as long as the segmenter has use for it.
            shown = part if len(part) <= LONGEST_INPUT else part[:LONGEST_INPUT] + part[-1]
            # Nor can half of a pair of surrogates be kept: there is no UTF-8 for it.
            for visible in self.segmenter.push(_SURROGATES.sub(REPLACEMENT, shown)):
                yield from self._take(visible, records)
        return records

    def _pause(self) -> Steps[list[Record]]:
        records: list[Record] = []
        for visible in self.segmenter.push_pause():
            yield from self._take(visible, records)
        return records

    def _flush(self) -> Steps[list[Record]]:
        self.ended = True
        records: list[Record] = []
        for visible in self.segmenter.flush():
            yield from self._take(visible, records)
        records.append(End(self.read, self.written))
        return records

    def _take(self, visible: ReleasedWord, records: list[Record]) -> Steps[None]:
        """A word becomes visible to the translator, or a sentence is closed."""
        if visible.word is not None:
            pieces = self._pieces(visible.word, records)
            if not self._fits(pieces):
                records.append(Note("long-sentence", self.sentence, f"cut after {self._writer.source.words} words"))
                yield from self._close(Reason.FORCED, records)
            self._take_settings(records)
            self._writer.source.add(pieces)
        if visible.reason is not None:
            yield from self._close(visible.reason, records)
        else:
            yield from self._write(records)

    def _write(self, records: list[Record]) -> Steps[None]:
        """Writes what the policy allows; a closed sentence, to its end."""
        writer, policy = self._writer, self.settings.policy
        if not writer.source.ids or self._muted:
            return
        if writer.closing is not None:
            yield from self._write_rest(records)
        elif isinstance(policy, CountingPolicy):
            while not self._muted and policy.may_write(self._situation()):
                yield from self._write_word("policy", records)
        elif isinstance(policy, LearnedPolicy):
            yield from self._ask_heads(policy, records)
        else:
            assert isinstance(policy, LookingPolicy)
            yield from self._look(policy, records)

    def _write_rest(self, records: list[Record]) -> Steps[None]:
        """The sentence is closed: its translation is written to its end."""
        reason = "flush" if self.ended else "catch-up"
        more = True
        while more and not self._muted:
            more = yield from self._write_word(reason, records)

    def _write_word(self, reason: str, records: list[Record]) -> Steps[bool]:
        """Writes one word, unless a guard stops the sentence or it has no more: then False."""
        owed = self._owed[0] if self._owed else None
        # A word that went out has passed the guards.
        if owed is None and self._cut(records):
            return False
        word = yield from self._writer.write_word()
        if owed is not None and word != owed.text:
            self._writer.insist(owed.pieces, instead=word is not None)
            word = owed.text
        if word is None:
            return False
        self._record_word(word, reason, records)
        return True

    def _ask_heads(self, policy: LearnedPolicy, records: list[Record]) -> Steps[None]:
        """Writes words for as long as the policy's heads say so."""
        writer, heads, memory = self._writer, self.model.heads, self._policy_memory
        source = yield from writer.source_state()
        wanted = policy.wants_row(self._situation(), source, heads, memory)
        more = True
        while more and not self._muted:
            at = self._situation()
            overdue = at.lag >= self.settings.max_lag
            if self._draft_words(at) == 0 or not (wanted or overdue):
                return
            may = False
            if wanted:
                target = yield from writer.target_state()
                wanted = may = policy.may_write(at, source, target, heads, memory)
            if not may and not overdue:
                return
            more = yield from self._write_word("policy" if may else "max-lag", records)

    def _look(self, policy: LookingPolicy, records: list[Record]) -> Steps[None]:
        """Drafts what could follow, and commits as much of it as the policy keeps."""
        at = self._situation()
        overdue = at.lag >= self.settings.max_lag
        if not overdue and not policy.wants_draft(at):
            return
        most = self._draft_words(at)
        if most == 0 or (not self._owed and self._cut(records)):
            return
        drafted = yield from make_draft(self._writer, policy, most)
        draft = drafted.draft
        kept = min(policy.keep(at, draft, self._policy_memory), len(draft.words))
        reason = "policy"
        if kept == 0 and overdue and draft.words:
            kept, reason = 1, "max-lag"
        kept, insisted = self._insist(drafted, kept)
        for number, word in enumerate(insisted.draft.words[:kept]):
            if number and not self._owed and self._cut(records):
                kept = number
                break
            self._record_word(word.text, reason, records)
        if kept:
            self._writer.commit(insisted, kept)
        if insisted is not drafted:
            self._writer.drafting.guess, self._writer.drafting.margins = [], []
        if insisted is not drafted or reason == "max-lag":
            policy.overrule(self._words, self._policy_memory)

    def _insist(self, drafted: Drafted, kept: int) -> tuple[int, Drafted]:
        """How many words are committed, and of which draft: words that went out stay, whatever the draft has there."""
        words = drafted.draft.words
        for number, (word, owed) in enumerate(zip(words[:kept], self._owed, strict=False)):
            if word.text != owed.text:
                instead = DraftWord(owed.text, owed.pieces, 0.0, 0.0)
                return number + 1, replace(drafted, draft=Draft((*words[:number], instead), complete=False))
        return kept, drafted

    def _draft_words(self, at: Situation) -> int:
        """Words that a draft may have: as many as wait-1 would write by now, as no model has learned to write more."""
        words = 0
        while at.read >= words_needed(at.written + words + 1, 1, at.gamma):
            words += 1
        return words

    def _record_word(self, word: str, reason: str, records: list[Record]) -> None:
        self._words.append(word)
        # As the final words alone give it, whatever a tail let out before: what is written depends on the lag.
        self._delays.append(self.read - self._closed_words)
        if self._owed:
            # It is in the records already.
            del self._owed[0]
            return
        self._put_out(word, reason, records)

    def _put_out(self, word: str, reason: str, records: list[Record]) -> None:
        records.append(Write(word, self.written, self.read, self.sentence, reason))
        self.written += 1

    def _situation(self) -> Situation:
        return Situation(self._writer.source.words, len(self._words), self.settings.gamma)

    def _take_settings(self, records: list[Record]) -> None:
        """With its first word, a sentence gets the settings that were chosen last."""
        if self._pending_settings is None or self._writer.source.words:
            return
        old, new = _listed(self.settings), _listed(self._pending_settings)
        if changes := [f"{name} {value}" for name, value in new.items() if value != old.get(name)]:
            records.append(Note("settings", self.sentence, ", ".join(changes)))
        self.settings, self._pending_settings = self._pending_settings, None
        self._writer = self._new_writer()

    def _chosen(self) -> Settings:
        return self._pending_settings or self.settings

    def _cut(self, records: list[Record]) -> bool:
        """Whether a guard stops this sentence here."""
        limit = length_limit(self._writer.source.words, self.settings.gamma)
        if loops(self._words):
            cause = ("loop", f"cut after {len(self._words)} words: {' '.join(self._words[-6:])}")
        elif len(self._words) >= limit:
            cause = ("length", f"cut at {limit} words for {self._writer.source.words} source words")
        elif not self._writer.has_room():
            cause = ("positions", f"cut after {len(self._words)} words: no room in the model")
        else:
            return False
        records.append(Note(cause[0], self.sentence, cause[1]))
        self._muted = True
        return True

    def _close(self, reason: Reason, records: list[Record]) -> Steps[None]:
        """The sentence is complete: its rest is written, and it becomes history."""
        writer = self._writer
        if writer.source.words == 0:
            return
        writer.closing = closing_symbol(ends_document=reason is Reason.END)
        yield from self._write(records)
        records.append(SentenceEnd(self.sentence, writer.source.words, len(self._words), str(reason)))
        if self._muted or degenerate(writer.source.words, self._words, self.settings.gamma):
            records.append(Note("history-dropped", self.sentence, "the sentence looks degenerate"))
            self._history.drop()
        elif self._words:
            self._history.add(writer.source, writer.target, writer.reads)
        else:
            self._history.skip()
        self.sentence += 1
        self._closed_words += writer.source.words
        self._keep_lag(writer.source.words)
        self._words, self._delays, self._muted, self._policy_memory = [], [], False, {}
        self._writer = self._new_writer()

    def _keep_lag(self, source_words: int) -> None:
        """With a target lag: chooses the policy of the next sentence."""
        chosen = self._chosen()
        if chosen.target_lag is None:
            return
        self._lag.sentence(source_words, self._delays)
        policy = self._lag.next_policy(chosen.policy, chosen.target_lag)
        if policy != chosen.policy:
            self._pending_settings = chosen.changed(policy=policy)

    def _new_writer(self) -> Writer:
        # Half of the positions are for the sentence itself: more than any sentence that a segmenter lets through.
        # What the next sentence may ask for is kept.
        self._history.trim(self._chosen().history, self.model.max_positions // 2)
        return Writer(self.model, self.settings, self._history)

    # --- the recogniser's tail (turia.engine.tail) ----------------------------------------------------------------

    def fork(self) -> Stream:
        """A stream that goes on from here by itself. Models, settings and states of the model are values: shared."""
        writer = self._writer
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
            if not self._fits(pieces) or (number == 0 and not self._writer.source.ids and not pieces):
                return None
            self._take_settings(records)
            self._writer.source.add(pieces)
        writer = self._writer
        if not writer.source.ids or self._muted:
            return None
        yield from writer.read_all()
        for owed in self._owed:
            writer.insist(owed.pieces, instead=False)
        return writer, self._draft_words(Situation(writer.source.words, writer.target.words, self.settings.gamma))

    def commit_ahead(self, words: Sequence[OwedWord], reasons: Iterable[str]) -> list[Record]:
        """Lets these words of the sentence out now; they are owed until the final words come to them."""
        for ghost in self.ghosts:
            # Some have not come to these words: they owe them too.
            ghost.stream.commit_ahead(words[ghost.stream.written - self.written :], repeat(""))
        records: list[Record] = []
        for word, reason in zip(words, reasons, strict=False):
            self._owed.append(word)
            self._put_out(word.text, reason, records)
        return records

    def _become(self, ghost: Ghost) -> Steps[list[Record]]:
        """The first word of the tail is final: what the ghost did for it is done."""
        self._refuse_unless_open(ghost.word)
        ghosts, out = self.ghosts[1:], self.written
        vars(self).update(vars(ghost.stream), ghosts=ghosts)
        return [record for record in ghost.records if not isinstance(record, Write) or record.index >= out]
        yield  # a generator without steps

    # --- input ----------------------------------------------------------------------------------------------------

    def _pieces(self, word: str, records: list[Record]) -> tuple[int, ...]:
        """The pieces of a source word; none if it normalises to nothing."""
        given = word[:LONGEST_INPUT]
        normal = normalise_word(given) if self.model.normalises else clean_word(given)
        pieces = self.model.source_subwords.encode_word(normal) if normal else ()
        most = min(MOST_PIECES, self._own_positions())
        if len(word) > LONGEST_INPUT or len(pieces) > most:
            self.replaced += 1
            records.append(Note("long-word", self.sentence, "a very long word was cut for the model"))
            # Its end stays, so that it ends as every word does.
            pieces = (*pieces[: most - 1], pieces[-1]) if len(pieces) > most else pieces
        elif any(map(_is_no_text, word)):
            self.replaced += 1
            records.append(Note("not-text", self.sentence, "control characters were left out"))
        elif REPLACEMENT in word:
            self.replaced += 1
            records.append(Note("not-text", self.sentence, "there were bytes that are no text"))
        elif WORD_END in word or (not normal and any(map(_is_picture, word))):
            self.replaced += 1
            records.append(Note("not-text", self.sentence, "a symbol that the model cannot read was left out"))
        return pieces

    def _fits(self, pieces: tuple[int, ...]) -> bool:
        """Whether the sentence may grow by `pieces` within the model's positions."""
        return len(self._writer.source.ids) + len(pieces) <= self._own_positions()

    def _own_positions(self) -> int:
        """Pieces that a source sentence may have: the half of the positions that history leaves, less a symbol."""
        return self.model.max_positions - self.model.max_positions // 2 - 1

    # --- state ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that `restore` needs to go on with the same words, as plain JSON data."""
        self._refuse_if_broken()
        writer = self._writer
        return {
            "version": STATE_VERSION,
            "model": self.model.name,
            "pieces": self.model.vocabulary_fingerprint,
            "settings": self.settings.to_json(),
            "pending_settings": None if self._pending_settings is None else self._pending_settings.to_json(),
            "counts": {name: getattr(self, name) for name in _COUNTS},
            "ended": self.ended,
            "history": self._history.to_json(),
            "words": list(self._words),
            "muted": self._muted,
            "source": writer.source.to_json(),
            "target": writer.target.to_json(),
            "row_limits": list(writer.row_limits),
            "reads": list(writer.reads),
            "policy_memory": deepcopy(self._policy_memory),
            "owed": [[word.text, list(word.pieces)] for word in self._owed],
            "drafting": writer.drafting.to_json(),
            "lag": {"closed": self._closed_words, "delays": list(self._delays), **self._lag.to_json()},
            "segmenter": self.segmenter.state(),
        }

    @classmethod
    def restore(cls, model: Model, segmenter: Segmenter, state: dict[str, Any]) -> Stream:
        """A stream that goes on where `state` was taken; `segmenter` is a new one of the same kind."""
        if not isinstance(state, dict):
            raise InputError(f"not the state of a stream: {type(state).__name__}")
        if state.get("version") not in _READABLE_STATES:
            known = " and ".join(map(str, _READABLE_STATES))
            raise InputError(f"stream state of version {state.get('version')!r}; this Turia reads {known}")
        if state.get("model") != model.name:
            raise InputError(f"stream state of model {state.get('model')!r}, but this model is {model.name!r}")
        # Newer weights with the same pieces may go on.
        if state.get("pieces") != model.vocabulary_fingerprint:
            raise InputError(f"stream state of another {model.name!r}, which had other pieces")
        try:
            stream = cls._restored(model, segmenter, state)
            stream._check_restored()
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            raise InputError(f"stream state is damaged: {type(error).__name__} {error}") from error
        return stream

    @classmethod
    def _restored(cls, model: Model, segmenter: Segmenter, state: dict[str, Any]) -> Stream:
        segmenter.restore(state["segmenter"])
        stream = cls(model, segmenter, Settings.from_json(state["settings"]))
        pending = state["pending_settings"]
        stream._pending_settings = None if pending is None else _fitting(model, Settings.from_json(pending))
        for name in _COUNTS:
            setattr(stream, name, state["counts"][name])
        words = state["words"]
        # The state stays the caller's. What is no list is left as it is, to be refused.
        stream._words = list(words) if isinstance(words, list) else words
        stream.ended, stream._muted = state["ended"], state["muted"]
        first_release = state["version"] == 1
        stream._history = History.from_json(state["history"], stream.settings if first_release else None)
        source, target = PartialSentence.from_json(state["source"]), PartialSentence.from_json(state["target"])
        writer = Writer(
            model, stream.settings, stream._history, source, None, target, row_limits=list(state["row_limits"])
        )
        # Release 0.1 did not note the words read, which follow from the positions that each word's rows saw.
        writer.reads = writer.reads_from_limits() if first_release else list(state["reads"])
        stream._writer = writer
        if first_release:
            # There was no target for the lag.
            stream._closed_words = max(0, stream.read - source.words)
            stream._delays = [stream.read - stream._closed_words] * len(stream._words)
            return stream
        stream._policy_memory = deepcopy(state["policy_memory"])
        stream._owed = [OwedWord.from_json(word) for word in state["owed"]]
        writer.drafting = Drafting.from_json(state["drafting"])
        lag = state["lag"]
        stream._closed_words, stream._delays = lag["closed"], list(lag["delays"])
        stream._lag = LagController.from_json(lag)
        return stream

    def _check_restored(self) -> None:
        """What would otherwise fail at a later word, or never."""
        writer, history = self._writer, self._history
        source, target = self.model.source_subwords, self.model.target_subwords
        targets = [*history.target, writer.target]
        good = {
            "pieces of the source": all(_can_be(side, source) for side in (*history.source, writer.source)),
            "pieces of the target": all(_can_be(side, target) and 0 not in side.pieces for side in targets),
            "what the model has room for": (
                history.positions() <= self.model.max_positions // 2
                and len(writer.source.ids) <= self._own_positions()
                and writer.fits()
            ),
            "a limit for each piece": writer.has_sound_limits(),
            "words read at each word": are_reads(writer.reads, writer.source, writer.target),
            "what a policy remembers": isinstance(self._policy_memory, dict),
            "what drafts leave behind": writer.has_sound_drafts(),
            "words that went out ahead": all(
                _can_be(PartialSentence(list(word.pieces), [len(word.pieces)]), target) for word in self._owed
            ),
            "the words of the pieces": is_words(self._words) and len(self._words) == writer.target.words,
            "counts": all(type(getattr(self, name)) is int and getattr(self, name) >= 0 for name in _COUNTS),
            "how far each word lagged": (
                type(self._closed_words) is int
                and 0 <= self._closed_words <= self.read
                and len(self._delays) == len(self._words)
                and all(type(delay) is int and 0 < delay <= self.read for delay in self._delays)
            ),
            "true or false": isinstance(self.ended, bool) and isinstance(self._muted, bool),
        }
        if not all(good.values()):
            raise ValueError(f"expected {', '.join(what for what, is_so in good.items() if not is_so)}")


def _can_be(side: PartialSentence, subwords: Subwords) -> bool:
    """Whether text can have given these pieces: all of them known, no reserved symbol, each word with its end."""
    ids = np.array(side.ids, dtype=np.int64)
    if (ids >= len(subwords)).any() or (subwords.is_control[ids] & (ids != UNK_ID)).any():
        return False
    # With the space first, the end of a word does not show in its pieces.
    ends = np.cumsum([count for count in side.pieces if count], dtype=np.int64)
    return subwords.space_first or np.array_equal(np.flatnonzero(subwords.ends_word[ids]) + 1, ends)


def _fitting(model: Model, settings: Settings) -> Settings:
    """`settings`, if the model can be run with them."""
    if model.anchor == "window" and not isinstance(settings.policy, WaitK | Whole):
        raise ModelError(
            f"{model.name}: policy {settings.policy.name} needs masks that are anchored at the sentence; "
            "this model's count k in pieces of the window: use wait-k"
        )
    policy = settings.policy
    if isinstance(policy, LearnedPolicy):
        check_heads(policy, model.heads, model.name)
        if not model.backend.gives_states:
            raise ModelError(
                f"{model.name}: policy {policy.name} looks at states, which this model folder does not give; "
                "export the model again with this release"
            )
    if isinstance(policy, LookingPolicy) and policy.attention:
        if not model.backend.can_look:
            raise ModelError(without_attention(model.name, policy.name))
        layers = model.layers
        if layers is not None and policy.layer is not None and not -layers <= policy.layer < layers:
            raise ConfigError(
                f"policy {policy.name}: layer is {policy.layer}, expected 0 to {layers - 1} "
                f"(or -1 for the last): the decoder of {model.name} has {layers} layers"
            )
    return settings


def _listed(settings: Settings) -> dict[str, Any]:
    """The settings as notes list them: wait-k by its k and rounding, as in release 0.1."""
    values = settings.to_json()
    if isinstance(settings.policy, WaitK):
        del values["policy"]
        return {"k": settings.policy.k, "rounding": settings.policy.rounding, **values}
    return values


def _is_picture(letter: str) -> bool:
    """Emoji, ∞ and the like. A word of nothing else is lost to the model; of marks alone (`–`, `>>`) it was none."""
    category = unicodedata.category(letter)
    return category == "So" or (category == "Sm" and not letter.isascii())


def _is_no_text(letter: str) -> bool:
    """Letters that no writer means: controls, code points without a meaning, changes of direction."""
    return unicodedata.category(letter) in ("Cc", "Co", "Cn") or letter in _DIRECTIONS


_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_COUNTS = ("read", "written", "sentence", "replaced")
