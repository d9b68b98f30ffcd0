"""The captions of a session: numbered inputs in, events out. No clock, socket, thread or file in here.

An input is a word, a pause, a change of settings, or the end. Others have no number: the recogniser's unstable tail, a
silence that the server has noticed itself, and what an operator asks for. What they lead to is stored like the rest.
An event is what was said, what the engine made of it, or the settings in force (turia.protocol.events). Everybody who
follows a session sees the same events, in the same order.

After each input, `state()` is all that is needed to go on with the next. What was shown is therefore never computed
again: restored captions continue it, they do not repeat it.

A change of direction, or of where sentence ends come from, ends a stream and begins another; the counts of words and
sentences go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from turia.engine.backend import Steps
from turia.engine.model import Model
from turia.engine.stream import Stream
from turia.engine.tail import Tentative
from turia.errors import ConfigError, InputError, ModelError
from turia.policy.waitk import WaitK
from turia.protocol.client_messages import EndOfStream, InputMessage, Pause, SettingsChange, Words
from turia.protocol.corrections import MUTED, Correct, Insert, Mute, TextChange
from turia.protocol.events import Event, SettingsInForce, SourceWord
from turia.protocol.values import Lead, ProtocolError
from turia.schema import JsonObject, Natural, from_dict, read_json, to_dict, write_json
from turia.segmenter.announced import AnnouncedSegmenter
from turia.server.choices import (
    StreamChoice,
    Translators,
    begin_stream,
    change_stream,
    chosen_anew,
    glossary_of,
    policy_keys,
    policy_of,
)
from turia.server.edits import Edits, Steered
from turia.server.follower_feed import FollowerInput
from turia.server.progress import Progress
from turia.stream.speakers import speaker_note
from turia.stream.trace import End, Note, Record, SentenceEnd, Write
from turia.text.glossary import Glossary

STATE_VERSION = 1
DAMAGED = "what is stored of the session is damaged; begin a new one"
log = logging.getLogger("turia.server")
Clock = Callable[[], float]
"""Milliseconds since the session began."""


# --- inputs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Word:
    """One source word; `at` is when it was spoken, on the speaker's clock, in milliseconds."""

    seq: int
    text: str
    at: float | None = None


@dataclass(frozen=True)
class Tail:
    """What a recogniser may still revise, behind the words before it."""

    text: str


@dataclass(frozen=True)
class SilenceNoticed:
    """The server's clock says that the speaker has stopped."""


NumberedInput = Word | Pause | SettingsChange | EndOfStream
Unnumbered = Tail | SilenceNoticed | Steered
Input = NumberedInput | FollowerInput | Unnumbered


def change_in(item: Input) -> SettingsChange | None:
    """The change of settings that an input is, or brings."""
    if isinstance(item, FollowerInput):
        return item.change
    message = item.message if isinstance(item, Steered) else item
    return message if isinstance(message, SettingsChange) else None


def inputs_of(message: InputMessage) -> list[NumberedInput]:
    """The inputs of a message, one number each."""
    if not isinstance(message, Words):
        return [message]
    times: Sequence[float | None] = message.times or [None] * len(message.words)
    pairs = zip(message.words, times, strict=True)
    return [Word(message.seq + offset, word, at) for offset, (word, at) in enumerate(pairs)]


# --- captions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counts:
    """Source words, target words and sentences, such as those of the streams that came before this one."""

    read: Natural = 0
    written: Natural = 0
    sentences: Natural = 0


@dataclass(frozen=True)
class _State:
    """What is stored of captions."""

    version: int
    k: Lead
    punctuation: bool
    ms: float
    before: Counts
    stream: JsonObject
    """The state of the engine's stream."""
    at: float | None = None
    policy: str | None = None
    pause: float | None = None
    target_lag: str | None = None
    also: tuple[str, ...] = ()
    follows: bool = False
    own_glossary: bool = False
    """Whether the stream's glossary is the session's own."""
    free: bool = False
    inserted: Natural = 0
    """Lines that an operator put in."""
    own_latency: bool = False
    muted: bool = False


class Captions:
    """The stream of a session, and how far it is."""

    def __init__(
        self,
        translators: Translators,
        stream: Stream,
        choice: StreamChoice,
        progress: Progress,
        before: Counts = Counts(),
        ms: float = 0.0,
        at: float | None = None,
        inserted: int = 0,
        muted: bool = False,
    ) -> None:
        self.translators, self.stream = translators, stream
        self.choice = choice
        """The last one; the stream itself takes a new policy with the next sentence."""
        self.progress = progress
        """What `state()` stands for."""
        self._before = before
        self._ms = ms
        """The time of the newest event; times never go back, whatever the clock does."""
        self._at = at
        """When the last word was spoken, on the speaker's clock."""
        self.edits = Edits(inserted)
        self._muted = muted
        """Whether an operator wants no words of the speaker taken."""
        self._terms: Glossary | None = None
        """The glossary that was given to the stream last."""
        self.tentative: Tentative | None = None
        """What may still change, if the last input was a tail."""
        self._share: Callable[[Stream], None] | None = None

    @classmethod
    def begin(cls, translators: Translators, choice: StreamChoice) -> tuple[Captions, Event]:
        """New captions and their first event, which has the settings."""
        captions = cls(translators, begin_stream(translators, choice), choice, Progress(events=1))
        return captions, captions.settings_event()

    @classmethod
    def restore(cls, translators: Translators, state: str, progress: Progress) -> Captions:
        """The captions whose `state()` this is."""
        try:
            found = from_dict(_State, read_json(state), pass_over=True)
        except InputError:
            # The cause may hold what was said.
            raise ProtocolError("session", DAMAGED) from None
        model = str(found.stream.get("model"))
        if found.version != STATE_VERSION or model not in translators:
            raise ProtocolError("model", "the session was begun by another release, or with a model that is not here")
        try:
            policy = policy_of(found.k, found.policy, WaitK())
            segmenter = AnnouncedSegmenter(found.stream["segmenter"]["window"]) if found.follows else None
            stream = translators[model].restore(found.stream, segmenter)
        except InputError as error:
            raise ProtocolError("model", f"the session cannot go on here: {error}") from error
        except Exception as error:
            # A state that no engine has written may fail anywhere in ours. Its text may hold what was said.
            log.error("a stored state cannot be restored: %s", type(error).__name__)
            raise ProtocolError("session", DAMAGED) from None
        choice = StreamChoice(
            *(model, policy, found.punctuation, found.pause, found.target_lag, found.also),
            follows=found.follows,
            glossary=stream.glossary if found.own_glossary else None,
            free=found.free,
            first_block=stream.settings.first_block,
            own_latency=found.own_latency,
        )
        return cls(translators, stream, choice, progress, found.before, found.ms, found.at, found.inserted, found.muted)

    def state(self) -> str:
        """Everything `restore` needs, as JSON."""
        choice, stream = self.choice, self.stream.state()
        k, policy = policy_keys(choice.policy)
        return write_json(
            to_dict(
                _State(
                    STATE_VERSION,
                    k,
                    choice.punctuation,
                    self._ms,
                    self._before,
                    stream,
                    self._at,
                    policy,
                    choice.pause,
                    choice.target_lag,
                    choice.also,
                    choice.follows,
                    choice.glossary is not None,
                    choice.free,
                    self.edits.inserted,
                    choice.own_latency,
                    self._muted,
                )
            )
        )

    @property
    def model(self) -> Model:
        return self.stream.model

    def finished(self) -> Counts:
        """Words and sentences of the session that are complete."""
        before, (read, written) = self._before, self.stream.finished_words()
        return Counts(before.read + read, before.written + written, before.sentences + self.stream.sentence)

    def apply(self, inputs: Sequence[Input], clock: Clock) -> Steps[list[Event]]:
        """The events of these inputs."""
        events: list[Event] = []
        for item in inputs:
            self.tentative = None
            # Words that were under way when the operator ended the session lead to nothing.
            over = self.stream.ended and not (isinstance(item, Steered) and item.changes_text)
            new = [] if over else (yield from self._apply_one(item, clock))
            number = self.progress.inputs if isinstance(item, Unnumbered) else item.seq
            self.progress = Progress(number, self.progress.events + len(new), self.stream.ended)
            events += new
        return events

    def _apply_one(self, item: Input, clock: Clock) -> Steps[list[Event]]:
        match item:
            case Word() | Tail() if self._muted:
                # It was heard by nobody here: what is said in a break is nowhere.
                return []
            case Word(_, text, at):
                self._follow_glossary()
                self._at = at if at is None or self._at is None else max(self._at, at)
                source = SourceWord(text, self._before.read + self.stream.read, self._now(clock), at)
                records = yield from self.stream.push_steps(text, (source.ms if at is None else at) / 1000)
                return [source, *self._events(records, clock)]
            case Tail(text):
                partial = yield from self.stream.partial_steps(text)
                self.tentative = partial.tentative
                return self._events(partial.records, clock)
            case Pause(speaker=str(name)):
                records = yield from self.stream.pause_steps()
                return self._events([*records, speaker_note(name, self.stream.sentence)], clock)
            case Pause() | SilenceNoticed():
                return self._events((yield from self.stream.pause_steps()), clock)
            case EndOfStream():
                return self._events((yield from self.stream.flush_steps()), clock)
            case SettingsChange():
                return (yield from self._change(item, clock))
            case FollowerInput():
                return (yield from self._follow(item, clock))
            case Steered():
                if isinstance(item.message, Correct | Insert):
                    return [self.edits.event(item.message, self._now(clock))]
                if isinstance(item.message, Mute):
                    return (yield from self._mute(item.message.muted, clock))
                return (yield from self._apply_one(item.message, clock))

    def _mute(self, muted: bool, clock: Clock) -> Steps[list[Event]]:
        """What was said before is written to its end."""
        if muted == self._muted:
            return []
        self._muted = muted
        records = yield from self.stream.pause_steps()
        return self._events([*records, Note(MUTED, self.stream.sentence, "on" if muted else "off")], clock)

    def _follow(self, item: FollowerInput, clock: Clock) -> Steps[list[Event]]:
        """What the session has done that this one follows."""
        events: list[Event] = []
        segmenter = self.stream.segmenter
        assert isinstance(segmenter, AnnouncedSegmenter)
        if item.change is not None and not self.choice.own_latency:
            events += yield from self._change(item.change, clock)
        if item.window is not None:
            segmenter.look_ahead(item.window)
        if item.lengths:
            segmenter.announce(item.lengths)
            # They have read on without that end.
            self.stream.ghosts.clear()
        if item.text is not None:
            events += yield from self._apply_one(Word(item.seq, item.text, item.at), clock)
        if segmenter.owes_end and not item.ends:
            events += self._events((yield from self.stream.pause_steps()), clock)
        if item.muted is not None:
            events += yield from self._mute(item.muted, clock)
        if item.speaker is not None:
            events += self._events([speaker_note(item.speaker, self.stream.sentence)], clock)
        if item.ends:
            events += self._events((yield from self.stream.flush_steps()), clock)
        return events

    def _change(self, change: SettingsChange, clock: Clock) -> Steps[list[Event]]:
        old = self.choice
        self.choice = chosen_anew(self.translators, old, change)
        events: list[Event] = []
        following: Stream | None = None
        try:
            if any(getattr(self.choice, name) != getattr(old, name) for name in ("model", "punctuation", "free")):
                # Engines run a batch for one model, and a stream has one segmenter: another one begins.
                following = begin_stream(self.translators, self.choice)
            elif change.k or change.policy or change.target_lag:
                change_stream(self.stream, self.choice)
        except ProtocolError as error:
            # It was checked before it came here. If that was not enough, the session goes on as it was.
            self.choice = old
            events.append(self._refused(error))
        except (ModelError, ConfigError) as error:
            self.choice = replace(self.choice, policy=old.policy, target_lag=old.target_lag)
            events.append(self._refused(error))
        if following is not None:
            records = yield from self.stream.flush_steps()
            events += self._events(records[:-1], clock)
            self._go_on_with(following)
        self._follow_glossary()
        return [*events, self.settings_event(self._now(clock))]

    def _refused(self, error: Exception) -> Note:
        return Note("settings-refused", self._before.sentences + self.stream.sentence, str(error))

    def check_text(self, message: TextChange) -> None:
        """Refuses what an operator cannot change."""
        self.edits.check(message, self._before.sentences + self.stream.sentence)

    def _follow_glossary(self) -> None:
        """From the next sentence on, the terms are those that hold now: files change while somebody speaks."""
        now = glossary_of(self.translators, self.choice)
        if now is not self._terms:
            self._terms = now
            if (now or None) != self.stream.glossary:
                self.stream.change(glossary=now)

    def _go_on_with(self, stream: Stream) -> None:
        """Another stream, after the one that has ended."""
        old, before = self.stream, self._before
        self._before = Counts(before.read + old.read, before.written + old.written, before.sentences + old.sentence)
        self.stream = stream
        if self._share is not None:
            self._share(self.stream)

    def share(self, give: Callable[[Stream], None]) -> None:
        """`give` lets a stream share what is computed for others of the same speaker: this one, and those after it."""
        self._share = give
        give(self.stream)

    def _now(self, clock: Clock) -> float:
        self._ms = max(self._ms, round(clock(), 1))
        return self._ms

    def _events(self, records: Sequence[Record], clock: Clock) -> list[Event]:
        ms = self._now(clock)
        return [self._event(record, ms) for record in records]

    def _event(self, record: Record, ms: float) -> Record:
        """The record with its time, counted from the beginning of the session."""
        before = self._before
        match record:
            case Write(_, index, read, sentence):
                return replace(
                    record,
                    index=index + before.written,
                    read=read + before.read,
                    sentence=sentence + before.sentences,
                    ms=ms,
                    at=self._at,
                )
            case SentenceEnd(sentence):
                return replace(record, sentence=sentence + before.sentences, ms=ms)
            case Note(_, sentence):
                return replace(record, sentence=sentence + before.sentences)
            case End(read, written):
                return End(read + before.read, written + before.written, ms)

    def settings_event(self, ms: float = 0.0) -> SettingsInForce:
        """The settings as they were chosen last."""
        settings, (source, target) = self.stream.settings, self.model.languages
        k, policy = policy_keys(self.choice.policy)
        return SettingsInForce(
            self.model.name,
            source,
            target,
            k,
            settings.gamma,
            settings.beam,
            ms,
            self.stream.segmenter.window,
            settings.history,
            self.choice.punctuation,
            policy,
            self.choice.target_lag,
            len(self.stream.glossary or ()) or None,
            "free" if self.choice.free else None,
        )
