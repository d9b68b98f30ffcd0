"""Whether the store takes what is written: readiness depends on it. It lives on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from turia.server.stores.base import Store, StoreError

T = TypeVar("T")


class StoreHealth:
    """What became of the last write."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.answers = True
        """Whether the store took it."""

    async def ask(self, work: Callable[..., T], *arguments: Any) -> T:
        """Something that writes, in a helper thread."""
        try:
            result = await asyncio.to_thread(work, *arguments)
        except StoreError:
            self.answers = False
            raise
        self.answers = True
        return result

    async def check(self) -> None:
        """Notices a store that has gone, and one that has come back: without streams, nobody else writes into it."""
        with suppress(StoreError):
            await self.ask(self._store.check, not self.answers)
