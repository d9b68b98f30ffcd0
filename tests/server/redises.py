"""A real Redis for tests: a process on a port of its own, that can be killed, paused and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import pytest
import redis

from tests.server.servers import free_port

MEMORY = "/dev/shm"


class RedisServer:
    """`redis-server` as the store wants it, with its append-only file in `folder`.

    Without a folder it has one in memory, until its end: what was written outlives a kill there too, and no busy disk
    makes it slow.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._own: tempfile.TemporaryDirectory[str] | None = None
        if folder is None:
            place = MEMORY if os.access(MEMORY, os.W_OK) else None
            self._own = tempfile.TemporaryDirectory(prefix="turia-redis-", dir=place)
            folder = Path(self._own.name)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        if self._own is not None:
            self._own.cleanup()

    def start(self, **settings: str) -> None:
        self._folder.mkdir(exist_ok=True)
        given = {"port": str(self.port), "dir": str(self._folder), "bind": "127.0.0.1", "save": ""}
        given |= {"appendonly": "yes", "appendfsync": "always", "loglevel": "warning"} | settings
        options = [part for name, value in given.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        with redis.Redis(port=self.port) as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.ConnectionError:
                    assert self._process.poll() is None
                    time.sleep(0.02)

    def kill(self) -> None:
        """As `kill -9`."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """It takes connections and answers nothing, as a machine that swaps."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def clear(self) -> None:
        with redis.Redis(port=self.port) as client:
            client.flushall()


def skip_without_redis() -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (Debian: apt-get install redis-server)")
