"""Delays: how many source words had been read when each target word was written.

This is the global delay function G of Eq. 1, as a list d[0..|Y|-1] of word counts (METHOD section 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turia.stream.actions import Action


def delays_from_actions(actions: Iterable[Action]) -> list[int]:
    """d[i] = number of READs before the i-th WRITE (the G(i) of Eq. 1)."""
    delays: list[int] = []
    read = 0
    for action in actions:
        if action is Action.READ:
            read += 1
        else:
            delays.append(read)
    return delays


def actions_from_delays(delays: Sequence[int], source_words: int) -> list[Action]:
    """The actions that give `delays`, which never decrease. Source words that no target word waited for are read at the
    end."""
    actions: list[Action] = []
    read = 0
    for delay in delays:
        assert read <= delay <= source_words
        actions += [Action.READ] * (delay - read) + [Action.WRITE]
        read = delay
    return actions + [Action.READ] * (source_words - read)
