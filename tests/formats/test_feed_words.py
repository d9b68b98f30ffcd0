"""Times that are shared out, and names of speakers."""

from __future__ import annotations

import pytest

from turia.formats.feed_words import shared_out, speaker_name
from turia.stream.times import SpokenWord


def test_a_time_is_shared_out_evenly_and_the_speaker_is_each_words() -> None:
    assert shared_out("so so", 1.0, 2.0, "Anna") == [
        SpokenWord("so", 1.0, 1.5, "Anna"), SpokenWord("so", 1.5, 2.0, "Anna")
    ]  # fmt: skip
    assert shared_out("so", None, 2.0) == [SpokenWord("so", None, 2.0, None)]
    assert shared_out(" ", 1.0, 2.0) == []


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, None),
        (0, "Speaker 0"),
        ("Anna", "Anna"),
        (" Anna \n Bo ", "Anna Bo"),
        ("\x00", None),
        ("a" * 300, "a" * 100),
    ],
)
def test_a_name_is_one_line(value: object, name: str | None) -> None:
    assert speaker_name(value) == name


@pytest.mark.parametrize("value", [True, 1.5, ["Anna"]])
def test_what_is_no_name_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected a name or a whole number"):
        speaker_name(value)
