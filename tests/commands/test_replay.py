"""`turia replay` shows words when they are due, and the same file always in the same way."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from turia.cli import main
from turia.commands.replay import read_moments, replay
from turia.errors import InputError
from turia.formats.replay import TimedEvent, recording_lines

EVENTS = [
    {"type": "settings", "model": "de-en", "ms": 0.0},
    {"type": "source", "word": "Guten", "index": 0, "ms": 5000.0},
    {"type": "source", "word": "Tag.", "index": 1, "ms": 6000.0},
    {"type": "write", "word": "Hello.", "index": 0, "read": 2, "sentence": 0, "reason": "policy", "ms": 7000.0},
    {"type": "source", "word": "Ja.", "index": 2, "ms": 8000.0},
    {"type": "sentence", "sentence": 0, "source_words": 2, "target_words": 1, "reason": "segmenter", "ms": 8000.0},
    {"type": "write", "word": "Yes.", "index": 1, "read": 3, "sentence": 1, "reason": "flush", "ms": 9000.0},
    {"type": "sentence", "sentence": 1, "source_words": 1, "target_words": 1, "reason": "end", "ms": 9000.0},
    {"type": "end", "source_words": 3, "target_words": 2, "ms": 9000.0},
]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{line}\n" for line in recording_lines(EVENTS)), encoding="utf-8")
    return path


class Clock:
    """A clock that passes by waiting alone."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def wait(self, seconds: float) -> None:
        self.waits.append(round(seconds, 6))
        self.now += seconds


@pytest.mark.parametrize(("speed", "waits"), [(1.0, [2.0, 2.0]), (4.0, [0.5, 0.5])])
def test_words_wait_for_their_time_from_the_first_word_of_the_session(
    recorded: Path, speed: float, waits: list[float]
) -> None:
    clock, file = Clock(), io.StringIO()
    replay(read_moments(recorded), file, speed, clock=lambda: clock.now, wait=clock.wait)
    assert file.getvalue() == "Hello.\nYes.\n"
    assert clock.waits == waits


def test_who_is_late_does_not_wait(recorded: Path) -> None:
    clock = Clock()
    times = iter([0.0, 5.0, 5.0])
    replay(read_moments(recorded), io.StringIO(), clock=lambda: next(times), wait=clock.wait)
    assert clock.waits == []


def test_a_sentence_of_the_source_ends_where_it_ended_not_where_that_was_found(recorded: Path) -> None:
    clock, file = Clock(), io.StringIO()
    replay(read_moments(recorded), file, side="source", clock=lambda: clock.now, wait=clock.wait)
    assert file.getvalue() == "Guten Tag.\nJa.\n"


def test_speakers_are_named(recorded: Path) -> None:
    played = read_moments(recorded)
    bo = TimedEvent(3.5, {"type": "note", "kind": "speaker", "sentence": 1, "detail": "Bo"})
    clock, file = Clock(), io.StringIO()
    replay([*played[:6], bo, *played[6:]], file, clock=lambda: clock.now, wait=clock.wait)
    assert file.getvalue() == "Hello.\nBo: Yes.\n"


def test_the_command(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(recorded), "--speed", "1000"]) == 0
    assert capsys.readouterr().out == "Hello.\nYes.\n"
    assert main(["replay", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl: cannot be read: No such file" in capsys.readouterr().err
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe")
    assert main(["replay", str(tmp_path / "a.bin")]) == 2
    assert "a.bin: not text in UTF-8; expected a trace or a recording" in capsys.readouterr().err


def test_a_trace_has_no_spoken_words(recorded: Path) -> None:
    only = [moment for moment in read_moments(recorded) if moment.event["type"] != "source"]
    with pytest.raises(InputError, match="nothing to replay: no spoken words in it"):
        replay(only, io.StringIO(), side="source")


def changed_by_an_operator() -> list[dict[str, object]]:
    """The first line corrected late, the second hidden, and a line put in between them."""
    change = {"type": "correction", "sentence": 0, "words": 1, "text": "Good afternoon.", "ms": 8500.0}
    line = {"type": "insertion", "number": 0, "before": 1, "text": "[Applause]", "ms": 8600.0}
    hidden = {"type": "correction", "sentence": 1, "words": 1, "text": "", "ms": 9500.0}
    return [*EVENTS[:6], change, line, *EVENTS[6:8], hidden, EVENTS[8]]


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        ([], "Good afternoon.\n[Applause]\n"),
        (["--as-written"], "Hello.\nYes.\n"),
        (["--side", "source"], "Guten Tag.\nJa.\n"),
    ],
)
def test_lines_are_printed_as_an_operator_has_left_them(
    options: list[str], printed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(recording_lines(changed_by_an_operator())), encoding="utf-8")
    assert main(["replay", str(path), "--speed", "1000", *options]) == 0
    assert capsys.readouterr().out == printed


def test_words_of_a_correction_come_at_the_times_of_those_that_they_stand_for(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(recording_lines(changed_by_an_operator())), encoding="utf-8")
    clock, file = Clock(), io.StringIO()
    replay(read_moments(path), file, clock=lambda: clock.now, wait=clock.wait)
    # The line that was put in has the time of the one behind it, though that one is hidden.
    assert clock.waits == [2.0, 2.0]


def test_a_change_that_makes_no_sense_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(recording_lines([*EVENTS, {"type": "correction", "sentence": "x"}])), encoding="utf-8")
    assert main(["replay", str(path), "--speed", "1000"]) == 2
    assert "a correction cannot be read" in capsys.readouterr().err
