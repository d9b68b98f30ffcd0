"""What becomes of a Redis that does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import redis

from turia.server.stores.base import StoreError


@contextmanager
def answered() -> Iterator[None]:
    """An error of Redis as one of the store's, at once."""
    try:
        yield
    except redis.RedisError as error:
        raise StoreError("the store of sessions does not answer") from error
