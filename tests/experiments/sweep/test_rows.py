"""The table of a sweep, as it is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.cli import main


def test_the_command_prints_a_table(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = toml.with_name("sweep-other.toml")
    other.write_text(toml.read_text("utf-8").replace('"out"', '"other"').replace("[0, 2]", "[]"), encoding="utf-8")
    assert main(["sweep", str(toml), str(other), "--processes", "1"]) == 0
    printed = capsys.readouterr()
    assert "oracle segments" in printed.out
    assert [line for line in printed.out.splitlines() if line.endswith(("/out", "/other"))] == [
        str(toml.parent / "out"), str(toml.parent / "other"),
    ]  # fmt: skip
    assert "scoring" in printed.err
    toml.write_text("windws = [1]\n" + toml.read_text("utf-8"), encoding="utf-8")
    assert main(["sweep", str(toml)]) == 2
    assert "did you mean 'windows'?" in capsys.readouterr().err
