"""One session: numbered inputs in, numbered events out. No clock, socket, thread or file in here.

An input is a word, a pause, a change of settings, or the end. An event is a JSON text: what was said (`source`), what
the engine made of it (the records of turia.stream.trace), and the settings in force. Everybody who follows a session
sees the same events, in the same order.

After each input, `state()` is all that is needed to go on with the next. What was shown is therefore never computed
again: a restored session continues it, it does not repeat it.

A change of direction ends the stream of one model and begins one of another; the counts of words and sentences go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from turia.engine.model import Model, Steps
from turia.engine.stream import Stream
from turia.errors import InputError, ModelError
from turia.server.messages import EndOfStream, Pause, ProtocolError, SettingsChange, Words, dumps
from turia.stream.trace import End, Note, Record, SentenceEnd, Write, record_line

STATE_VERSION = 1


class Translating(Protocol):
    """What begins streams: a Translator, or a test's fake."""

    model: Model

    def stream(self, *, k: int, punctuation: bool) -> Stream: ...

    def restore(self, state: dict[str, Any]) -> Stream: ...


Translators = Mapping[str, Translating]


def finds_sentences(translator: Translating) -> bool:
    """Whether the model has a segmenter of the usual window; one without is good for punctuated input alone."""
    try:
        translator.stream(k=1, punctuation=False)
    except ModelError:
        return False
    return True


def any_stream(translator: Translating, k: int) -> Stream:
    """A stream that takes words as the model can: without punctuation if it finds sentence ends."""
    return translator.stream(k=k, punctuation=not finds_sentences(translator))


@dataclass(frozen=True)
class Word:
    """One source word; `at` is when it was spoken, on the speaker's clock, in milliseconds."""

    seq: int
    text: str
    at: float | None = None


Input = Word | Pause | SettingsChange | EndOfStream


def inputs_of(message: Words | Pause | SettingsChange | EndOfStream) -> list[Input]:
    """The inputs of a message, one number each."""
    if not isinstance(message, Words):
        return [message]
    times: Sequence[float | None] = message.times or [None] * len(message.words)
    pairs = zip(message.words, times, strict=True)
    return [Word(message.seq + offset, word, at) for offset, (word, at) in enumerate(pairs)]


@dataclass(frozen=True)
class Counts:
    """Source words, target words and sentences of the streams that came before this one."""

    read: int = 0
    written: int = 0
    sentences: int = 0


class Session:
    """The stream of a session and how far it is."""

    def __init__(
        self, translators: Translators, stream: Stream, k: int, punctuation: bool, before: Counts, ms: float
    ) -> None:
        self.translators, self.stream = translators, stream
        self.k, self.punctuation = k, punctuation
        """As chosen last; the stream itself takes a new k with the next sentence."""
        self._before = before
        self._ms = ms
        """The time of the newest event; times never go back, whatever the clock does."""
        self._at: float | None = None
        """When the last word was spoken, on the speaker's clock."""

    @classmethod
    def begin(cls, translators: Translators, model: str, k: int, punctuation: bool) -> tuple[Session, str]:
        """A new session and its first event."""
        if model not in translators:
            raise ProtocolError("model", f"no such model; this server has {', '.join(translators)}")
        try:
            stream = translators[model].stream(k=k, punctuation=punctuation)
        except ModelError:
            raise ProtocolError("model", "this model finds no sentence ends; ask for punctuation") from None
        session = cls(translators, stream, k, punctuation, Counts(), 0.0)
        return session, session.settings_event()

    @classmethod
    def restore(cls, translators: Translators, text: str) -> Session:
        """The session whose `state()` this is."""
        state = json.loads(text)
        if state["version"] != STATE_VERSION or state["stream"]["model"] not in translators:
            raise ProtocolError("model", "the session was begun by another release, or with a model that is not here")
        try:
            stream = translators[state["stream"]["model"]].restore(state["stream"])
        except InputError as error:
            raise ProtocolError("model", f"the session cannot go on here: {error}") from error
        session = cls(translators, stream, state["k"], state["punctuation"], Counts(**state["before"]), state["ms"])
        session._at = state.get("at")  # not in sessions of earlier releases
        return session

    def state(self) -> str:
        """Everything `restore` needs, as JSON."""
        own = {"version": STATE_VERSION, "k": self.k, "punctuation": self.punctuation, "ms": self._ms}
        own |= {} if self._at is None else {"at": self._at}
        return dumps(own | {"before": vars(self._before), "stream": self.stream.state()})

    @property
    def ended(self) -> bool:
        return self.stream.ended

    @property
    def model(self) -> Model:
        return self.stream.model

    def apply(self, inputs: Sequence[Input], clock: Callable[[], float]) -> Steps[list[str]]:
        """The events of these inputs. `clock` tells the milliseconds since the session began."""
        events: list[str] = []
        for item in inputs:
            match item:
                case Word(_, text, at):
                    self._at = at if at is None or self._at is None else max(self._at, at)
                    events.append(self._source_event(text, at, clock))
                    records = yield from self.stream.push_steps(text)
                    self._add(events, records, clock)
                case Pause():
                    records = yield from self.stream.pause_steps()
                    self._add(events, records, clock)
                case EndOfStream():
                    records = yield from self.stream.flush_steps()
                    self._add(events, records, clock)
                case SettingsChange(_, k, model):
                    if k is not None:
                        self.k = k
                        self.stream.change(k=k)
                    if model is not None and model != self.model.name:
                        # Engines run a batch for one model: what is left of this stream is its last.
                        records = yield from self.stream.flush_steps()
                        self._add(events, records[:-1], clock)
                        self._turn(model)
                    events.append(self.settings_event(self._now(clock)))
        return events

    def _turn(self, model: str) -> None:
        """Begins the stream of another model after the one that has ended."""
        old, before = self.stream, self._before
        self._before = Counts(before.read + old.read, before.written + old.written, before.sentences + old.sentence)
        self.stream = self.translators[model].stream(k=self.k, punctuation=self.punctuation)

    def _now(self, clock: Callable[[], float]) -> float:
        self._ms = max(self._ms, round(clock(), 1))
        return self._ms

    def _add(self, events: list[str], records: Sequence[Record], clock: Callable[[], float]) -> None:
        ms = self._now(clock)
        for record in records:
            line = record_line(self._shifted(record))
            heard = f',"at":{self._at}' if isinstance(record, Write) and self._at is not None else ""
            events.append(line if isinstance(record, Note) else f'{line[:-1]},"ms":{ms}{heard}}}')

    def _shifted(self, record: Record) -> Record:
        """The record counted from the session's beginning."""
        before = self._before
        if isinstance(record, Write):
            return replace(
                record,
                index=record.index + before.written,
                read=record.read + before.read,
                sentence=record.sentence + before.sentences,
            )
        if isinstance(record, End):
            return End(record.source_words + before.read, record.target_words + before.written)
        assert isinstance(record, SentenceEnd | Note)
        return replace(record, sentence=record.sentence + before.sentences)

    def _source_event(self, word: str, at: float | None, clock: Callable[[], float]) -> str:
        event = {"type": "source", "word": word, "index": self._before.read + self.stream.read, "ms": self._now(clock)}
        return dumps(event if at is None else event | {"at": at})

    def settings_event(self, ms: float = 0.0) -> str:
        """The settings as they were chosen last."""
        settings, (source, target) = self.stream.settings, self.model.languages
        return dumps(
            {"type": "settings", "model": self.model.name, "source": source, "target": target, "k": self.k}
            | {"gamma": settings.gamma, "beam": settings.beam, "ms": ms}
            | {"window": self.stream.segmenter.window, "history": settings.history, "punctuation": self.punctuation}
        )
