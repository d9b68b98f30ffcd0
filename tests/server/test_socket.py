"""What a connection keeps for a client that asks and does not listen."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.websockets import WebSocket

from tests.server.fakes import fake_translators
from turia.policy.waitk import WaitK
from turia.protocol.server_messages import Pong
from turia.server.choices import StreamChoice
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.sessions import SessionManager
from turia.server.socket import _Connection, serve_socket
from turia.server.stores.sqlite import SqliteStore

PINGS = 1000


class Deaf:
    """The socket of a client that sends pings and takes nothing."""

    def __init__(self) -> None:
        self._left = PINGS
        self.all_read = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        if not self._left:
            self.all_read.set()
            await asyncio.Event().wait()
        self._left -= 1
        return {"type": "websocket.receive", "text": '{"type":"ping"}'}

    async def send_text(self, text: str) -> None:
        await asyncio.Event().wait()


def test_pongs_do_not_pile_up_for_who_does_not_read_them(tmp_path: Path) -> None:
    async def ping() -> None:
        limits = Limits(words_per_second=1e9, burst=1e9)
        manager = SessionManager(fake_translators(), SqliteStore(tmp_path / "sessions.sqlite"), limits, Metrics())
        await manager.start()
        session_id, _ = await manager.create("owner", StreamChoice("de-en", WaitK(2), punctuation=True))
        session = await manager.find(session_id)
        assert session is not None
        reader, socket = await manager.join(session, "viewer"), Deaf()
        connection = _Connection(cast(WebSocket, socket), manager, session, reader, 0)
        tasks = [asyncio.create_task(connection.read()), asyncio.create_task(connection.write())]
        await socket.all_read.wait()
        assert list(reader.outbox) == [Pong()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await manager.stop()

    asyncio.run(ping())


class Saying:
    """The socket of a client that says hello, and remembers what it gets."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    async def accept(self) -> None: ...

    async def receive(self) -> dict[str, Any]:
        return {"type": "websocket.receive", "text": '{"type":"hello","protocol":1,"ticket":"t"}'}

    async def send_text(self, text: str) -> None:
        self.got.append(json.loads(text))

    async def close(self, code: int) -> None:
        self.got.append(code)


def test_what_nobody_foresaw_is_told_to_the_client_and_its_text_to_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(ticket: str) -> None:
        raise KeyError("geheim" + "nis")

    async def connect() -> None:
        manager = SessionManager(fake_translators(), SqliteStore(tmp_path / "sessions.sqlite"), Limits(), Metrics())
        monkeypatch.setattr(manager, "use_ticket", fail)
        await serve_socket(cast(WebSocket, socket), manager)
        manager.store.close()

    socket = Saying()
    asyncio.run(connect())
    refusal, code = socket.got
    assert (refusal["type"], refusal["code"], refusal["retry"], code) == ("error", "failed", False, 1011)
    assert "KeyError" in caplog.text
    assert "geheimnis" not in caplog.text
