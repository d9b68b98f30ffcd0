"""QR codes are made beside the event loop, kept, and refused in a long queue. test_room_routes.py asks for them."""

from __future__ import annotations

import asyncio

import pytest

from turia.server.codes import MOST_KEPT, MOST_WAITING, Codes, qr_code
from turia.server.downloads import TooManyError

URL = "http://127.0.0.1:8000/room/hall"


def test_a_code_is_kept() -> None:
    async def run() -> None:
        codes = Codes()
        first = await codes.get(URL, "svg", 5)
        assert first == qr_code(URL, "svg", 5)
        assert await codes.get(URL, "svg", 5) is first
        assert await codes.get(URL, "svg", 6) != first
        codes.close()

    asyncio.run(run())


def test_a_long_queue_is_refused_and_no_one_else() -> None:
    async def run() -> None:
        codes = Codes()
        asked = [asyncio.create_task(codes.get(f"{URL}{number}", "svg", 1)) for number in range(MOST_WAITING + 3)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [isinstance(one, TooManyError) for one in found] == [False] * MOST_WAITING + [True] * 3
        assert await codes.get(f"{URL}-later", "svg", 1) == qr_code(f"{URL}-later", "svg", 1)
        codes.close()

    asyncio.run(run())


def test_only_some_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turia.server.codes._make", lambda *key: str(key).encode())

    async def run() -> None:
        codes = Codes()
        for number in range(MOST_KEPT + 5):
            await codes.get(str(number), "svg", 1)
        assert len(codes._kept) == MOST_KEPT
        codes.close()

    asyncio.run(run())
