"""benchmarks/event.py at a small size; and that it would see what is wrong."""

from __future__ import annotations

import re

import pytest

from benchmarks.event import Size, expected, run
from benchmarks.event_people import Digest, Lines


def test_an_undisturbed_stream_says_what_must_come() -> None:
    must = expected("de-en", ["ka", "le.", "mi"])
    assert must.source == ["ka le.", "mi"]
    assert must.target == ["ka le", "mi"]
    # A pause of the captions ends a sentence.
    assert expected("de-en", ["ka", "le.", "mi"], [1]).target == ["ka", "le", "mi"]


def test_lines_are_as_the_operator_has_left_them() -> None:
    lines = Lines(corrected={0: (1, "Kalle"), 1: (2, "")}, inserted=[(1, "[Applause]"), (3, "[End]")])
    assert lines.changed(["ka le", "mi no", "pu"]) == "Kalle le\n[Applause]\npu\n[End]\n"


def test_digests_differ_where_events_do() -> None:
    first, second, third = Digest(), Digest(), Digest()
    for digest, events in ((first, "ab"), (second, "ba"), (third, "ab")):
        for event in events:
            digest.add({"type": event})
    assert first == third
    assert first != second
    assert first.count == 2


@pytest.mark.slow
def test_a_small_event_is_captioned_without_a_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seven things that each operator does, two of them after the kill at least.
    monkeypatch.setattr("benchmarks.event.OPERATED", 0.25)
    assert run(Size(minutes=2.0, speed=10.0, rooms=2, viewers=4)) == []
    printed = capsys.readouterr().out
    assert "1 kill of the server" in printed
    # A busy machine gives an operator less to do.
    found = re.search(r"(\d) pauses with (\d) words", printed)
    assert found is not None, printed
    assert found.groups() in (("1", "3"), ("2", "6"))
    assert printed.endswith("every transcript, recording and viewer is right\n")
