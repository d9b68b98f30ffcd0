"""Events of a session: what was said, what the engine made of it, and the settings in force (docs/protocol.md).

Most of them are the records of a trace. Others come from the server: a source word, the settings, and what an operator
does to the text. Everybody who follows a session gets the same events in the same order. An event that was sent never
changes, so a server sends an event of its store exactly as it is stored, even if a later release wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass

from turia.errors import FormatError, InputError
from turia.protocol.corrections import Correction, Insertion
from turia.schema import JsonObject, Natural, Tagged
from turia.stream.trace import RECORDS, Record, Time


@dataclass(frozen=True)
class SourceWord:
    """A word of the speaker, as it arrived."""

    word: str
    index: Natural
    ms: Time
    """When it arrived, in milliseconds since the session began."""
    at: Time | None = None
    """When it was spoken, in milliseconds of the speaker's clock; None if the speaker did not say."""


@dataclass(frozen=True)
class SettingsInForce:
    """The settings as they were chosen last; a new k holds from the next sentence on."""

    model: str
    source: str
    """Code of the source language."""
    target: str
    """Code of the target language."""
    k: Natural
    gamma: float
    beam: Natural
    ms: Time
    window: Natural
    history: Natural
    punctuation: bool
    policy: str | None = None
    """In place of wait-k with this k."""
    target_lag: str | None = None
    """The mean lag that is kept by moving the policy's parameter."""
    terms: Natural | None = None
    """Of the glossary, when the settings were chosen."""
    segmentation: str | None = None
    """`free` where the model ends sentences itself."""


Event = SourceWord | SettingsInForce | Correction | Insertion | Record
EVENTS: Tagged[Event] = Tagged(
    {
        "settings": SettingsInForce,
        "source": SourceWord,
        "correction": Correction,
        "insertion": Insertion,
        **RECORDS.kinds,
    }
)
LATEST_MS = 10 * 366 * 86_400_000.0
"""That the clock of a session can show."""


def checked_event(event: JsonObject) -> JsonObject:
    """An event as a server sent it: refused if it cannot be passed on. It may be one of a later release."""
    ms = event.get("ms")
    if ms is not None and (isinstance(ms, bool) or not isinstance(ms, int | float) or not 0 <= ms <= LATEST_MS):
        raise FormatError(f"the server sent an event with the time {ms!r:.30}, expected milliseconds of the session")
    if event.get("type") in EVENTS.kinds:
        try:
            EVENTS.from_json(event)
        except InputError as error:
            raise FormatError(f"the server sent an event that is none: {error}") from None
    return event
