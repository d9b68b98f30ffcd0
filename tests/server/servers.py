"""Servers under test: real processes on real sockets, with fake models."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from turia.protocol.client import Follower

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
"""In which a process finds the tests, and the Turia beside them."""

_given: set[int] = set()


def free_port() -> int:
    """A port that stays free until its server is there, and while a killed one is away.

    It is none of those that the kernel gives to connections, and each process of the tests has some of its own.
    """
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    while True:
        port = random.SystemRandom().randrange(20_000 + process % 8, 32_000, 8)
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port


def cut_connection(follower: Follower) -> None:
    """Cuts the connection of a client as a bad network would."""
    if follower._socket is not None:
        follower._socket.transport.abort()


def answer_to(asked: urllib.request.Request) -> tuple[int, str]:
    """Status and text of the answer, also of one that is an error."""
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


class FakeServer:
    """A server process that can be killed and started again on the same port and the same data."""

    def __init__(self, data: Path, **given: Any) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.data, self.log = data, data / "server.log"
        self._options = {"port": self.port, "data": str(data)} | given
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> FakeServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.server.run_fake", json.dumps(self._options)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdout=log, stderr=log)
        while self.status("/readyz") != 200:
            assert self._process.poll() is None, self.log.read_text()
            time.sleep(0.05)

    def kill(self, with_signal: int = signal.SIGKILL) -> int:
        """Its exit code."""
        assert self._process is not None
        self._process.send_signal(with_signal)
        return self._process.wait(timeout=60)

    def memory(self) -> int:
        """Bytes that the process holds."""
        assert self._process is not None
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def open_files(self) -> int:
        """Of the process."""
        assert self._process is not None
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    def status(self, path: str) -> int:
        try:
            return self.get(path)[0]
        except (urllib.error.URLError, OSError):
            return 0

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        return answer_to(urllib.request.Request(self.url + path, headers=headers))

    def post(self, path: str, body: dict[str, Any] | None = None, **headers: str) -> tuple[int, dict[str, Any]]:
        data = json.dumps(body or {}).encode()
        asked = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"} | headers)
        status, text = answer_to(asked)
        return status, json.loads(text)

    def headers(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str]]:
        """Status and headers of an answer, with names in small letters."""
        asked = urllib.request.Request(self.url + path, method=method, headers=headers)
        if method == "POST":
            asked.data = b"{}"
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return answer.status, {name.lower(): value for name, value in answer.headers.items()}
        except urllib.error.HTTPError as error:
            with error:
                return error.code, {name.lower(): value for name, value in error.headers.items()}

    def faults(self) -> list[str]:
        """Lines of the log that tell of something unforeseen."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [line for line in lines if "Traceback" in line or "ERROR" in line]
