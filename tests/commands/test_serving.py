"""Commands about a server: what they refuse before they begin. What they do is in test_relay.py and test_replay.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.cli import main


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_a_relay_needs_somewhere_to_relay_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere to relay to: give --youtube FILE, --zoom FILE or --hls FOLDER" in complaint(
        capsys, "relay", "a-session"
    )


def test_a_server_has_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    told = complaint(capsys, "relay", "a-session", "--server", "localhost")
    assert "--server localhost: expected http://HOST:PORT or https://HOST" in told


def test_a_trace_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert str(tmp_path / "absent.jsonl") in complaint(capsys, "replay", str(tmp_path / "absent.jsonl"))
