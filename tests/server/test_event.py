"""benchmarks/event.py at a small size; and that it would see what is wrong."""

from __future__ import annotations

import pytest

from benchmarks.event import Digest, Size, expected, run


def test_an_undisturbed_stream_says_what_must_come() -> None:
    must = expected("de-en", ["ka", "le.", "mi"])
    assert must.source == "ka le.\nmi\n"
    assert must.target == "ka le\nmi\n"


def test_digests_differ_where_events_do() -> None:
    first, second, third = Digest(), Digest(), Digest()
    for digest, events in ((first, "ab"), (second, "ba"), (third, "ab")):
        for event in events:
            digest.add({"type": event})
    assert first == third
    assert first != second
    assert first.count == 2


@pytest.mark.slow
def test_a_small_event_is_captioned_without_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Size(minutes=1.5, speed=20.0, rooms=2, viewers=4)) == []
    printed = capsys.readouterr().out
    assert "1 kill of the server" in printed
    assert printed.endswith("every transcript, recording and viewer is right\n")
