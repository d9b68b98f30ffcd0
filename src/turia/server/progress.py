"""How far a session is: the counters that its server, its worker and its store hand to each other as one value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Inputs that are part of the state of a session, and the events that they led to."""

    inputs: int = 0
    """Number of the last input."""
    events: int = 0
    """Number of the last event."""
    ended: bool = False
