"""The file of API keys: read at the start, and again whenever it changes, so that keys come and go without a restart.

A file that cannot be read, or has no keys, changes nothing: the keys of before stay, and the log says so. Each use of a
key is a line of the logger `turia.server.audit`, with the first digits of the key's hash and never the key.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from turia.errors import InputError
from turia.server.access import Keys

SHORTEST_KEY = 16
LOOK_SECONDS = 5.0
log = logging.getLogger("turia.server.audit")


def read_keys(path: Path | None) -> list[str]:
    """API keys, one a line."""
    if path is None:
        return []
    try:
        lines = {number: line.strip() for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a file of keys: {error}") from error
    keys = {number: key for number, key in lines.items() if key}
    if not keys:
        raise InputError(f"{path}: no keys; expected one a line, of at least {SHORTEST_KEY} characters")
    for number, key in keys.items():
        if len(key) < SHORTEST_KEY:
            raise InputError(f"{path}:{number}: a key has at least {SHORTEST_KEY} characters")
    return list(keys.values())


class KeyFile:
    """The keys of a file, and what to do for those that are gone."""

    def __init__(self, path: Path, keys: Keys, revoke: Callable[[set[str]], None]) -> None:
        self._path, self._keys, self._revoke = path, keys, revoke
        self._stamp = self._now()

    async def watch(self) -> None:
        """For as long as the server lives."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Takes the keys of a file that has changed."""
        stamp = self._now()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            keys = read_keys(self._path)
        except InputError:
            # Not its text: that may have a part of a key in it.
            log.error("the file of keys cannot be used; the keys of before stay")
            return
        new, gone = self._keys.replace(keys)
        log.info("keys changed", extra={"new": sorted(new), "revoked": sorted(gone)})
        self._revoke(gone)

    def _now(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def note_use(owner: str, request: str) -> None:
    """A line for each use of a key."""
    log.info("key used", extra={"key": owner, "request": request})
