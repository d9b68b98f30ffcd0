"""How much the sessions of one key may take in the store: `turia serve --quota 2GB`.

The bytes of each key are counted once a minute, so a key may be past its quota by what is said in a minute. Then
nothing more is taken of it (the error `quota`) until sessions of it are deleted, by its user or after `--retention`.
Whoever watches is not concerned.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping

from turia.errors import InputError
from turia.server.stores.base import StoreError

LOOK_SECONDS = 60.0
UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
log = logging.getLogger("turia.server")


def parse_size(text: str, option: str) -> int:
    """Bytes of a size such as 500MB or 2GB."""
    found = re.fullmatch(r"([0-9]{1,6})(MB|GB|TB)", text, re.IGNORECASE)
    size = int(found[1]) * UNITS[found[2].upper()] if found else 0
    if not size:
        raise InputError(f"{option} {text}: expected a size from 1MB on, such as 500MB or 2GB")
    return size


class Quota:
    """Which owners are past what they may store. `stored` says the bytes of each, `hold` is told who is past it."""

    def __init__(self, most: int, stored: Callable[[], Mapping[str, int]], hold: Callable[[set[str]], None]) -> None:
        self._most, self._stored, self._hold = most, stored, hold
        self._past: set[str] = set()

    async def watch(self) -> None:
        """For as long as the server lives."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        try:
            stored = await asyncio.to_thread(self._stored)
        except StoreError:
            log.warning("the store does not answer; quotas stay as they were")
            return
        past = {owner for owner, size in stored.items() if size >= self._most}
        if past != self._past:
            log.warning("keys are past their quota", extra={"keys": ",".join(sorted(past))})
        self._past = past
        self._hold(past)
