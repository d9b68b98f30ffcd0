"""Progress: a bar on a terminal, plain lines elsewhere, and nothing on standard output."""

from __future__ import annotations

import io
import sys

import pytest

from turia.system.console import Display


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_elsewhere_than_on_a_terminal_there_is_a_line_for_each_piece_of_news(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Display("train") as display:
        display.say("9.9 million parameters")
        display.update(0.5, "step 250")
        display.update(1.0, "step 500")
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert [line.rstrip() for line in lines] == [
        "9.9 million parameters", "train  50.0% step 250", "train 100.0% step 500",
    ]  # fmt: skip


def test_a_line_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """No markup, no wrapping: a long path can be copied."""
    line = "[bold]runs/" + "x" * 300
    Display("prepare").say(line)
    assert capsys.readouterr().err == line + "\n"


def test_on_a_terminal_a_bar_appears_with_the_first_news(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with Display("prepare"):
        pass
    assert screen.getvalue() == "", "of several processes of one command, only one has news"
    with Display("prepare") as display:
        display.update(0.25, "clean 3 of 12")
        display.say("going on")
    shown = screen.getvalue()
    assert "prepare" in shown
    assert "25.0 %" in shown
    assert "clean 3 of 12" in shown
    assert "going on\n" in shown
