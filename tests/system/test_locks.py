"""One process at a time in a folder, however the other one ends; and what the disk refuses, in one line."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from turia.errors import ResourceError
from turia.system.locks import alone_in, hold

HOLDER = """
import sys, time
from pathlib import Path
from turia.system.locks import alone_in
with alone_in(Path(sys.argv[1]), "turia train", "all stays"):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ResourceError) as refused, alone_in(folder, "turia train", "all stays"):
            pass
        assert str(refused.value) == f"{folder}: another `turia train` is at work there; wait for it"
        with alone_in(tmp_path / "runs" / "two", "turia train", "all stays"):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with alone_in(folder, "turia train", "all stays"):
        pass


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "no space left; free some and run again: all stays"),
        (errno.EROFS, "cannot write there: Read-only file system; all stays"),
    ],
)
def test_what_the_disk_refuses_is_said_in_one_line(tmp_path: Path, number: int, message: str) -> None:
    with pytest.raises(ResourceError) as refused, alone_in(tmp_path, "turia train", "all stays"):
        raise OSError(number, {errno.EROFS: "Read-only file system"}.get(number, ""))
    assert str(refused.value) == f"{tmp_path}: {message}"


def test_other_faults_pass_through(tmp_path: Path) -> None:
    """Also those that a lock would raise: only its own are its own."""
    with pytest.raises(BlockingIOError), alone_in(tmp_path, "turia train", "all stays"):
        raise BlockingIOError(errno.EAGAIN, "later")


def test_a_file_system_without_locks_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without)
    with (
        pytest.raises(ResourceError, match=r"its file system has no locks \(No locks available\); choose a folder on"),
        alone_in(tmp_path, "turia train", "all stays"),
    ):
        pass


def test_whoever_holds_a_lock_is_named_and_lets_go_by_closing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.lock"
    path.write_text("an older process, with a longer name\n")
    with hold(path, "stop it"):
        with pytest.raises(ResourceError) as refused:
            hold(path, "stop it")
        assert str(refused.value) == f"{tmp_path}: in use by process {os.getpid()}; stop it"
    hold(path, "stop it").close()
