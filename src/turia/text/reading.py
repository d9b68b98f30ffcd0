"""Words from a file or a pipe, each as soon as it is complete: when white space or the end of the input follows."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import cast

from turia.errors import InputError

_CHUNK = 1 << 16
BYTE_ORDER_MARK = "\ufeff"
"""Some programs begin UTF-8 text with it; it is no part of the first word."""


@contextmanager
def opened(path: Path | None) -> Iterator[BufferedReader]:
    """The file, or standard input where there is none; it is open in here."""
    if path is None:
        # Python's way to say that whoever started it had closed it.
        if sys.stdin is None:
            raise InputError("standard input is closed; give a file, or something to read from")
        yield cast(BufferedReader, sys.stdin.buffer)
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    with file:
        yield file


def read_words(file: BufferedReader) -> Iterator[str]:
    """The words of UTF-8 text; what is not UTF-8 comes out as U+FFFD, since a live stream cannot be sent back."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pending, begun = "", False
    # read1 gives what is there and waits only for the first byte.
    while chunk := file.read1(_CHUNK):
        pending += decoder.decode(chunk)
        if pending and not begun:
            pending, begun = pending.removeprefix(BYTE_ORDER_MARK), True
        words = pending.split()
        pending = words.pop() if words and not pending[-1].isspace() else ""
        yield from words
    pending += decoder.decode(b"", final=True)
    yield from pending.split()
