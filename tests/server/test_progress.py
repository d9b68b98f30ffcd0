"""The counters of a session are one value: two that say the same are equal, and a later one is another."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from turia.server.progress import Progress


def test_a_session_begins_with_nothing() -> None:
    assert Progress() == Progress(inputs=0, events=0, ended=False)


def test_progress_is_replaced_and_never_changed() -> None:
    before = Progress(inputs=3, events=7)
    after = replace(before, inputs=4, events=9)
    assert (before.inputs, before.events) == (3, 7)
    assert after == Progress(4, 9)
    with pytest.raises(FrozenInstanceError):
        before.inputs = 4  # type: ignore[misc]
