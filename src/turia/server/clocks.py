"""Whether the wall clock has jumped. Pure: the caller passes the times.

Sessions are deleted by their age. A clock that suddenly shows another week makes all of them old, or a machine slept
for that week. Nobody can tell which, so an administrator gets the time until the next look to set the clock right.
"""

from __future__ import annotations

JUMP = 3600.0
"""Seconds. Clocks are set by less all the time."""


class Clocks:
    """The wall clock beside one that only counts."""

    def __init__(self, wall: float, monotonic: float) -> None:
        self._apart = wall - monotonic

    def jumped(self, wall: float, monotonic: float) -> bool:
        """Since the last look."""
        before, self._apart = self._apart, wall - monotonic
        return abs(self._apart - before) > JUMP
