"""What the readers of feeds share: texts that have times only as a whole, and names of speakers."""

from __future__ import annotations

from typing import Any

from turia.stream.times import SpokenWord

LONGEST_NAME = 100
"""Letters of a speaker's name; what is longer is cut."""


def shared_out(text: str, start: float | None, end: float | None, speaker: str | None = None) -> list[SpokenWord]:
    """The words of a text that has times only as a whole."""
    words = text.split()
    if start is None or end is None:
        return [SpokenWord(word, None, end, speaker) for word in words]
    step = (end - start) / max(1, len(words))
    return [
        SpokenWord(word, round(start + i * step, 3), round(start + (i + 1) * step, 3), speaker)
        for i, word in enumerate(words)
    ]


def speaker_name(value: Any) -> str | None:
    """Who speaks, as a feed says it: a name, or the number that a recogniser gives to a voice; None for not known."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return f"Speaker {value}"
    if not isinstance(value, str):
        raise ValueError(f"speaker is {value!r:.30}, expected a name or a whole number")
    # As a server takes it: one line of letters that can be shown.
    shown = "".join(letter if letter.isprintable() else " " for letter in value)
    return " ".join(shown.split())[:LONGEST_NAME].strip() or None
