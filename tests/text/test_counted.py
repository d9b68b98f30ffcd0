"""One thing is named otherwise than several, or none."""

from __future__ import annotations

from turia.text.counted import counted


def test_one_thing_and_others() -> None:
    assert [counted(number, "sentence") for number in (0, 1, 2)] == ["0 sentences", "1 sentence", "2 sentences"]
