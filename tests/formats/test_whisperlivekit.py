"""WhisperLiveKit's messages: each says all again, and only what is new comes out."""

from __future__ import annotations

from typing import Any

import pytest

from turia.formats.whisperlivekit import WhisperLiveKit
from turia.stream.times import Heard, SpokenWord


def line(text: str | None, start: str, end: str, speaker: int = 1) -> dict[str, Any]:
    return {"speaker": speaker, "text": text, "start": start, "end": end}


def update(*lines: dict[str, Any], buffer: str = "", waiting: str = "") -> dict[str, Any]:
    return {
        "status": "active_transcription",
        "lines": list(lines),
        "buffer_transcription": buffer,
        "buffer_diarization": waiting,
        "remaining_time_transcription": 1.2,
    }


def said(found: list[Heard]) -> list[str]:
    """Words with their times and speakers, and the tail in brackets."""
    return [
        f"{item.text} {item.start}-{item.end} {item.speaker or ''}".strip()
        if isinstance(item, SpokenWord)
        else f"[{getattr(item, 'text', '')}]"
        for item in found
    ]


def test_a_line_that_grows_gives_its_new_words_with_the_time_that_is_left() -> None:
    feed = WhisperLiveKit()
    assert feed.push({"type": "config", "useAudioWorklet": True, "mode": "full"}) == []
    assert said(feed.push(update(line("Guten", "0:00:00", "0:00:01"), buffer="Morgen"))) == [
        "Guten 0.0-1.0", "[Morgen]"
    ]  # fmt: skip
    grown = line("Guten Morgen allerseits", "0:00:00", "0:00:03")
    assert said(feed.push(update(grown, waiting="ich", buffer="bin"))) == [
        "Morgen 1.0-2.0", "allerseits 2.0-3.0", "[ich bin]"
    ]  # fmt: skip
    assert said(feed.push(update(line("Guten Morgen allerseits", "0:00:00", "0:00:03")))) == ["[]"]
    assert feed.push({"type": "ready_to_stop"}) == []


def test_voices_are_named_once_there_are_two_and_silences_say_nothing() -> None:
    feed = WhisperLiveKit()
    first = line("Ja", "0:00:00", "0:00:01")
    assert said(feed.push(update(first)))[0] == "Ja 0.0-1.0"
    quiet, second = line(None, "0:00:01", "0:00:07", -2), line("Nein", "0:00:07", "0:00:08", 2)
    assert said(feed.push(update(first, quiet, second)))[:-1] == ["Nein 7.0-8.0 Speaker 2"]
    third = line("Doch", "0:00:08", "0:00:09", 1)
    assert said(feed.push(update(first, quiet, second, third)))[:-1] == ["Doch 8.0-9.0 Speaker 1"]


def test_lines_that_a_long_session_drops_are_not_said_again_and_nothing_is_lost() -> None:
    feed = WhisperLiveKit()
    lines = [line(f"a{i} b{i}", f"0:00:{2 * i:02d}", f"0:00:{2 * i + 1:02d}") for i in range(5)]
    words = [item.text for i in range(5) for item in feed.push(update(*lines[max(0, i - 1) : i + 1]))[:-1]]  # type: ignore[union-attr]
    assert words == [f"{letter}{i}" for i in range(5) for letter in "ab"]
    # All of them are gone at once.
    late = line("neu", "0:01:00", "0:01:01")
    assert said(feed.push(update(late)))[:-1] == ["neu 60.0-61.0"]


def test_differences_give_the_same_words() -> None:
    feed = WhisperLiveKit()
    first, second, third = (
        line(text, f"0:00:0{i}", f"0:00:0{i + 1}") for i, text in enumerate(["eins", "zwei", "drei"])
    )
    found = feed.push({"type": "snapshot", "seq": 1, **update(first)})
    found += feed.push({"type": "diff", "seq": 2, "n_lines": 2, "new_lines": [second], "buffer_transcription": "dr"})
    found += feed.push({"type": "diff", "seq": 3, "n_lines": 2, "lines_pruned": 1, "new_lines": [third]})
    # The last line has grown: it takes the place of itself.
    grown = third | {"text": "drei vier", "end": "0:00:04"}
    found += feed.push({"type": "diff", "seq": 4, "n_lines": 2, "new_lines": [grown]})
    assert said(found) == [
        "eins 0.0-1.0", "[]", "zwei 1.0-2.0", "[dr]", "drei 2.0-3.0", "[]", "vier 3.0-4.0", "[]"
    ]  # fmt: skip


def test_older_releases_say_beg() -> None:
    old = {"speaker": 1, "text": "Ja", "beg": "0:00:01", "end": "0:00:02"}
    assert said(WhisperLiveKit().push(update(old)))[0] == "Ja 1.0-2.0"


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (update(line("a", "soon", "0:00:01")), "time 'soon', expected H:MM:SS"),
        (update(line("a", "0:00:0\u0661", "0:00:02")), "time '0:00:0\u0661', expected H:MM:SS"),
        (update({"speaker": 1, "text": 5}), "text is 5, expected text"),
        ({"type": "diff", "n_lines": "two"}, "expected a whole number"),
        ({"status": "", "error": "FFmpeg is not here"}, "WhisperLiveKit failed: FFmpeg is not here"),
    ],
)
def test_what_is_no_message_is_refused(message: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        WhisperLiveKit().push(message)
