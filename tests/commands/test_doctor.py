"""`turia doctor` finds what is wrong with an installation, and says what to do."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.server.redises import RedisServer
from tests.server.servers import FakeServer, free_port
from turia.cli import main
from turia.commands import doctor, doctor_server, recognisers
from turia.commands.doctor import (
    Finding,
    check_clock,
    check_data,
    check_files,
    check_glossaries,
    check_keys,
    check_models,
    check_port,
    check_speech,
    check_store,
    clock_beside,
    worst,
)
from turia.server.stores.sqlite import SqliteStore
from turia.speech.recogniser import Recognised, Samples


def only(findings: Iterable[Finding]) -> Finding:
    [finding] = findings
    assert (finding.state == "ok") == (finding.mend == ""), "what is wrong has a remedy, what is well needs none"
    return finding


def test_the_worst_finding_counts() -> None:
    states = [Finding("disk", state, "found") for state in ("ok", "warning", "problem")]
    assert [worst(states[:count]) for count in range(4)] == ["ok", "ok", "warning", "problem"]
    assert Finding("disk", "warning", "little room", "make room").lines() == [
        "warning  disk       little room",
        "                    → make room",
    ]


@pytest.mark.slow
def test_a_port_is_free_or_ours_or_somebody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    assert only(check_port("127.0.0.1", port)).found == f"http://127.0.0.1:{port} is free"
    with FakeServer(tmp_path) as server:
        assert only(check_port("127.0.0.1", server.port)).found == f"a Turia answers at {server.url}"
    monkeypatch.setattr(doctor_server, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as other:
        # It takes connections and answers nothing.
        finding = only(check_port("127.0.0.1", other.getsockname()[1]))
    assert (finding.subject, finding.state) == ("port", "problem")
    assert finding.mend.startswith("another program has port")


def test_files() -> None:
    assert only(check_files(65_536)).state == "ok"
    assert only(check_files(-1)).state == "ok"
    finding = only(check_files(1024))
    assert (finding.state, finding.found) == ("warning", "1024 may be open; 2000 connections need 2200")
    assert "LimitNOFILE=65536" in finding.mend


def test_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, state in ((2e9, "ok"), (5e8, "warning"), (5e7, "problem")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: _Usage(free))
        assert only(check_data(tmp_path / "not" / "there")).state == state
    assert not (tmp_path / "not").exists(), "it changes nothing"
    (tmp_path / "file").touch()
    assert only(check_data(tmp_path / "file")).state == "problem"


class _Usage:
    def __init__(self, free: float) -> None:
        self.free = free


def test_the_file_of_sessions(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    SqliteStore(path).close()
    *_, finding = check_data(tmp_path)
    assert (finding.subject, finding.state) == ("sessions", "ok")
    assert "0 sessions" in finding.found
    path.chmod(0o644)
    assert [found.state for found in check_data(tmp_path) if found.subject == "sessions"] == ["warning", "ok"]
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    *_, finding = check_data(tmp_path)
    assert (finding.state, "of a newer release (version 99)" in finding.found) == ("problem", True)
    path.write_bytes(b"no store" * 1000)
    *_, finding = check_data(tmp_path)
    assert (finding.state, "cannot be read" in finding.found) == ("problem", True)
    assert "restore a backup" in finding.mend


def test_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    assert only(check_keys(path)).state == "problem"
    path.write_text("a-key-of-many-letters\n")
    path.chmod(0o644)
    finding = only(check_keys(path))
    assert (finding.state, finding.mend) == ("warning", f"chmod 600 {path}")
    path.chmod(0o600)
    assert only(check_keys(path)).found == f"{path}: 1 key"


def test_a_model_that_was_altered(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    finding = only(check_models((str(tmp_path),)))
    assert (finding.subject, finding.state) == ("models", "problem")
    assert str(tmp_path) in finding.found


def test_a_model_that_was_added_is_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURIA_HOME", str(tmp_path))
    monkeypatch.setattr(doctor, "packaged_models", list[str])
    (tmp_path / "models" / "opus-mt-de-en").mkdir(parents=True)
    (tmp_path / "models" / "opus-mt-de-en" / "config.json").write_text("{}")
    finding = only(check_models())
    assert (finding.subject, finding.state) == ("models", "problem")
    assert finding.mend.startswith("`turia models remove opus-mt-de-en`")


def test_glossaries(tmp_path: Path) -> None:
    good, bad = tmp_path / "terms.csv", tmp_path / "bad.csv"
    good.write_text("Haus,house\nBaum,tree\n")
    bad.write_bytes(b"\xff\xfe\x00")
    assert only(check_glossaries([f"de-en={good}"])).found == f"{good}: 2 terms"
    states = [finding.state for finding in check_glossaries([str(good), str(bad), str(tmp_path / "absent.csv")])]
    assert states == ["ok", "problem", "problem"]
    assert list(check_glossaries([])) == []


class Deaf:
    """A recogniser that takes sound, and understands nothing."""

    def __init__(self) -> None:
        self.samples = 0

    def push(self, samples: Samples) -> Recognised:
        self.samples += len(samples)
        return Recognised()

    def flush(self) -> Recognised:
        return Recognised()


def test_recognisers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = Deaf()
    monkeypatch.setattr(doctor, "has", lambda _: True)
    monkeypatch.setattr(recognisers, "needs", lambda *_: None)
    monkeypatch.setattr(doctor, "load_factory", lambda *_: lambda _: made)
    assert only(check_speech(None)).found.startswith("moonshine: took a second of en sound")
    assert made.samples == 16_000
    assert only(check_speech([f"de=vosk:{tmp_path}"])).found.startswith(f"de=vosk:{tmp_path}: took a second of de")
    assert only(check_speech([f"vosk:{tmp_path}"])).state == "problem", "it must be said which language it knows"
    assert only(check_speech(["none"])).state == "ok"
    monkeypatch.setattr(doctor, "has", lambda _: False)
    assert only(check_speech(None)).found.startswith("no recogniser is installed")


def test_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(clock_beside("the server", time.time())).state == "ok"
    assert only(clock_beside("the server", time.time() - 60)).found == "ours is 60 s ahead of that of the server"
    assert only(clock_beside("the server", time.time() + 60)).state == "warning"
    for synchronised, state in ((True, "ok"), (False, "warning"), (None, "ok")):
        monkeypatch.setattr(doctor, "_ntp", lambda synchronised=synchronised: synchronised)
        assert only(check_clock()).state == state
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert only(check_clock()).state == "problem"


def test_a_redis(redis_server: RedisServer) -> None:
    assert [finding.state for finding in check_store(redis_server.url)] == ["ok", "ok"]
    finding = only(check_store("redis:/nowhere"))
    assert (finding.subject, finding.state) == ("store", "problem")


def test_the_command_prints_what_it_finds_and_its_exit_code_is_2_for_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text("{}")
    command = ["doctor", "--model", str(tmp_path), "--port", str(free_port()), "--data", str(tmp_path)]
    command += ["--recogniser", "none"]
    assert main(command) == 2
    shown = capsys.readouterr().out
    assert f"problem  models     {tmp_path}" in shown
    assert main([*command, "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert [found["subject"] for found in told][:4] == ["turia", "models", "speech", "port"]
    assert main(["doctor", "--ca", "ca.pem"]) == 2
    assert "--ca is for --server" in capsys.readouterr().err
