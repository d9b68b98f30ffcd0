"""The table of a sweep, as it is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.cli import main


def test_the_command_prints_a_table(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(toml), "--processes", "1"]) == 0
    printed = capsys.readouterr()
    assert "oracle segments" in printed.out
    assert "scoring" in printed.err
    toml.write_text("windws = [1]\n" + toml.read_text("utf-8"), encoding="utf-8")
    assert main(["sweep", str(toml)]) == 2
    assert "did you mean 'windows'?" in capsys.readouterr().err
