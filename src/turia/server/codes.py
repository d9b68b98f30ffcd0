"""QR codes for whoever asks, without harm to those who speak.

A code takes up to a tenth of a second of processor time, and everybody may ask for one, with another name of the server
each time. So codes are made one after another in a thread of their own, which rests as long as it works; what was made
is kept for the next; and a long queue is refused.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import segno

from turia.server.downloads import TooManyError

BORDER = 4
"""Light squares around the code, as the standard asks for."""
MOST_KEPT, MOST_WAITING = 200, 8


class Codes:
    """Makes codes. It lives on the event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "turia-codes")
        self._kept: OrderedDict[tuple[str, str, int], bytes] = OrderedDict()
        self._waiting = 0

    async def get(self, text: str, kind: str, size: int) -> bytes:
        """A picture of the code."""
        key = (text, kind, size)
        if key not in self._kept:
            if self._waiting >= MOST_WAITING:
                raise TooManyError
            self._waiting += 1
            try:
                made = await asyncio.get_running_loop().run_in_executor(self._pool, _make, *key)
            finally:
                self._waiting -= 1
            self._kept[key] = made
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _make(text: str, kind: str, size: int) -> bytes:
    began = time.monotonic()
    made = qr_code(text, kind, size)
    # As much for the others, who wait for the interpreter.
    time.sleep(time.monotonic() - began)
    return made


def qr_code(text: str, kind: str, size: int) -> bytes:
    """A picture of a QR code; each of its squares is `size` pixels wide. It is read with a seventh of it dirty."""
    out = io.BytesIO()
    options: dict[str, Any] = {"svgns": True, "xmldecl": False} if kind == "svg" else {}
    segno.make(text, error="m", micro=False).save(
        out, kind=kind, scale=size, border=BORDER, dark="#000", light="#fff", **options
    )
    return out.getvalue()
