"""Work of the server's own with its models, and the way of its result back to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from turia.policy.waitk import WaitK
from turia.server.choices import Translating, any_stream
from turia.server.worker import Worker

T = TypeVar("T")


async def when_idle(worker: Worker, loop: asyncio.AbstractEventLoop, work: Callable[[], T]) -> T:
    """The result of short work, which the worker does when no session waits."""
    done: asyncio.Future[T] = loop.create_future()

    def chore() -> None:
        try:
            result = work()
        except Exception as error:
            loop.call_soon_threadsafe(_settle, done, error)
            raise
        loop.call_soon_threadsafe(_settle, done, result)

    worker.do_when_idle(chore)
    return await done


def _settle(future: asyncio.Future[T], result: T | Exception) -> None:
    """Whoever waited may have gone."""
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


def warm(translator: Translating) -> None:
    """The first words of a model are slow: said before anybody waits for them."""
    stream = any_stream(translator, WaitK(1))
    for word in ("eins", "zwei", "drei"):
        stream.push(word)
    stream.flush()
