"""From the events of one session to the inputs of those that translate the same words into other languages.

The session that a speaker feeds *leads*; the others follow its events. So words are taken, numbered and cut into
sentences once, and each further language costs one stream of its model and nothing else. An input of a follower has the
number of the last event of the leader that it stands for: what is stored of a follower says from where to go on.

Pure. All events of one input of the leader are stored together, so whatever is stored of it can be passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from turia.protocol.client_messages import SettingsChange
from turia.protocol.corrections import MUTED
from turia.schema import JsonObject
from turia.stream.speakers import SPEAKER

BEGINS = ("source", "settings")
"""Events that begin an input of the followers; what comes behind them belongs to it."""


@dataclass(frozen=True)
class FollowerInput:
    """An input of a follower."""

    seq: int
    text: str | None = None
    """A word of the speaker."""
    at: float | None = None
    lengths: tuple[int, ...] = ()
    """Words of the sentences that have ended with it."""
    change: SettingsChange | None = None
    """Another latency."""
    window: int | None = None
    """Words that the leader's segmenter looks ahead, from here on."""
    speaker: str | None = None
    """Who speaks behind it."""
    muted: bool | None = None
    """Whether the operator wants words taken behind it, if that has changed."""
    ends: bool = False
    """Nothing follows."""

    @property
    def is_empty(self) -> bool:
        return replace(self, seq=0, at=None) == _NOTHING


_NOTHING = FollowerInput(0)


@dataclass
class FollowerFeed:
    """What one follower has been told of its leader."""

    language: str
    """That it translates from; while the leader hears another one, the follower rests."""
    at: int = 0
    """Number of the last event that was passed on."""
    listens: bool = True
    timing: JsonObject | None = None
    """The leader's latency, as it was told last."""

    def know(self, settings: JsonObject) -> FollowerInput:
        """Takes the leader's settings; gives those that are new for the follower."""
        self.listens = settings.get("source", self.language) == self.language
        timing = {key: settings.get(key) for key in ("k", "policy", "target_lag")}
        before, self.timing = self.timing, timing
        window = settings.get("window") if self.listens else None
        if before is None or timing == before or not self.listens:
            return FollowerInput(1, window=window)
        k = timing["k"] if timing["policy"] is None else None
        change = SettingsChange(1, k=k, policy=timing["policy"], target_lag=timing["target_lag"])
        return FollowerInput(1, window=window, change=change)

    def inputs(self, events: Sequence[JsonObject]) -> list[FollowerInput]:
        """The follower's inputs for the next events of the leader."""
        found: list[FollowerInput] = []
        open_input = _NOTHING
        for number, event in enumerate(events, start=self.at + 1):
            kind = event.get("type")
            if kind in BEGINS:
                found.append(open_input)
                open_input = self._begun(event)
            elif kind == "sentence" and self.listens and event["source_words"]:
                open_input = replace(open_input, lengths=(*open_input.lengths, int(event["source_words"])))
            elif kind == "note" and event.get("kind") == SPEAKER and self.listens:
                open_input = replace(open_input, speaker=str(event.get("detail", "")))
            elif kind == "note" and event.get("kind") == MUTED:
                open_input = replace(open_input, muted=event.get("detail") == "on")
            elif kind == "end":
                open_input = replace(open_input, ends=True)
            open_input = replace(open_input, seq=number)
        self.at += len(events)
        return [item for item in [*found, open_input] if not item.is_empty]

    def _begun(self, event: JsonObject) -> FollowerInput:
        if event["type"] == "settings":
            return self.know(event)
        return FollowerInput(1, event["word"], event.get("at")) if self.listens else _NOTHING


def whole_inputs(events: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Without the last input, whose events may not all be there."""
    last = max((number for number, event in enumerate(events) if event.get("type") in BEGINS), default=0)
    return events[:last] or events
