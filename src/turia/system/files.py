"""Files and folders that appear whole, and JSON files that are read with errors for people.

New content is written under another name in the same folder, brought to the disk, and then renamed. A reader finds the
old content or the new content, never a part of it, even after a power failure. A process that is killed while it
writes leaves a hidden folder `.NAME.RANDOM.partial`, which `remove_leftovers` deletes.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from turia.errors import InputError

_LEFTOVER = ".partial"
MOST_JSON = 64 * 2**20
"""Bytes of a JSON file that is read whole."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives the path for a new file or folder, which takes the place of `path` when the block has ended.

    If the block raises, `path` stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A folder of its own, so that the new file or folder gets the usual permissions.
    scratch = Path(tempfile.mkdtemp(suffix=_LEFTOVER, prefix=f".{path.name}.", dir=path.parent))
    try:
        new = scratch / "new"
        yield new
        _flush_to_disk(new)
        _put_in_place(new, path, scratch / "old")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_file(path: Path, content: str | bytes) -> None:
    """Writes a file whole; text as UTF-8, its line ends as they are."""
    with replacing(path) as new:
        new.write_bytes(content.encode() if isinstance(content, str) else content)


def read_json(path: Path, expected: str, error: type[InputError]) -> dict[str, Any]:
    """The JSON object of a file. `expected` says what the file should belong to, `error` what to raise otherwise."""
    try:
        check_plain(path, MOST_JSON)
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise error(f"{path}: no such file; expected {expected}") from None
    except OSError as cause:
        raise error(f"{path}: cannot be read: {cause.strerror}; expected {expected}") from cause
    except (ValueError, RecursionError) as cause:  # brackets 5,000 deep
        raise error(f"{path}: not JSON: {cause}") from cause
    if not isinstance(data, dict):
        raise error(f"{path}: expected a JSON object")
    return data


def check_plain(path: Path, most: int | None = None) -> None:
    """Raises OSError for what is no file, such as a pipe or a device, which would be read for ever, or too large."""
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a plain file")
    if most is not None and found.st_size > most:
        raise OSError(errno.EFBIG, f"{found.st_size} bytes, expected at most {most}")


def remove_leftovers(folder: Path) -> None:
    """Deletes what killed processes have left in `folder`. For those who know that nobody writes there now."""
    for leftover in folder.glob(f"*{_LEFTOVER}"):
        shutil.rmtree(leftover)


def _flush_to_disk(new: Path) -> None:
    """Waits until the disk has the content: the rename must not overtake it."""
    for file in [new] if new.is_file() else [path for path in new.rglob("*") if path.is_file()]:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _put_in_place(new: Path, path: Path, old: Path) -> None:
    if not path.is_dir():
        new.replace(path)
        return
    # A folder with something in it cannot be replaced in one step.
    path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        old.rename(path)
        raise
