"""A server whose store goes back: to a backup that is restored, or to what a power cut left."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from websockets.sync.client import connect

from tests.server.servers import FakeServer


@contextmanager
def going_back(server: FakeServer, data: Path) -> Iterator[None]:
    """When it is left, the server begins anew with the store of when it was entered."""
    backup = data / "backup"
    backup.mkdir()
    server.kill()
    for file in data.glob("sessions.sqlite*"):
        shutil.copy(file, backup)
    server.start()
    yield
    server.kill()
    for file in data.glob("sessions.sqlite*"):
        file.unlink()
    for file in backup.iterdir():
        shutil.copy(file, data)
    server.start()


def say_two_words(server: FakeServer, session: str, secret: str) -> None:
    """Inputs 2 and 3 of a session, by somebody who does not know that there were others of these numbers."""
    _, answer = server.post(f"/api/sessions/{session}/tickets", Authorization=f"Bearer {secret}")
    with connect(server.url.replace("http", "ws") + "/socket") as socket:
        socket.send(json.dumps({"type": "hello", "protocol": 1, "ticket": answer["ticket"]}))
        assert json.loads(socket.recv())["last_input"] == 1
        socket.send(json.dumps({"type": "words", "seq": 2, "words": ["no", "pu."]}))
        while json.loads(socket.recv())["type"] != "ack":
            pass
