"""Locks a folder for one process at a time, and turns errors of its disk into one line for people.

The lock is `flock` on the file `.lock` in the folder. The system releases it however the process ends; the file stays,
and means nothing by itself. Network file systems have such locks too, if they are mounted that way.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from turia.errors import ResourceError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REFUSED = (errno.EACCES, errno.EROFS, errno.EPERM, errno.ENOTDIR, errno.EEXIST)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def alone_in(folder: Path, command: str, kept: str) -> Iterator[None]:
    """Makes `folder` and holds its lock. Errors name the `command` that works there, and say what is `kept` if the disk
    is full or cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("a") as file:
            _lock(file, folder, command)
            yield
    except OSError as error:
        if error.errno in _FULL:
            raise ResourceError(f"{folder}: no space left; free some and run again: {kept}") from error
        if error.errno in _REFUSED:
            raise ResourceError(f"{folder}: cannot write there: {error.strerror}; {kept}") from error
        raise


def hold(path: Path, instead: str) -> IO[str]:
    """The lock `path`, held until it is closed. Whoever holds it has its process in the file; `instead`: what to do."""
    file = path.open("a+")
    try:
        _take(file, path.parent)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
    except BlockingIOError:
        file.seek(0)
        other = file.read(20).strip() or "unknown"
        file.close()
        raise ResourceError(f"{path.parent}: in use by process {other}; {instead}") from None
    except BaseException:
        file.close()
        raise
    return file


def _lock(file: IO[str], folder: Path, command: str) -> None:
    try:
        _take(file, folder)
    except BlockingIOError:
        raise ResourceError(f"{folder}: another `{command}` is at work there; wait for it") from None


def _take(file: IO[str], folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise ResourceError(
            f"{folder}: its file system has no locks ({error.strerror}); choose a folder on another file system, or "
            "mount this one with locks"
        ) from error
