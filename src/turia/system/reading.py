"""Words from a file or a pipe, each as soon as it is complete: when white space or the end of the input follows."""

from __future__ import annotations

import codecs
import os
import re
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, cast

from turia.errors import InputError

Patience = Callable[[], float | None]
"""Seconds to wait for more, asked each time; None is for as long as it takes."""
_CHUNK = 1 << 16
_SPACE = re.compile(r"\s+")
LONGEST = 1_000_000
"""Letters of a word. More is not text, and would fill the memory."""
BYTE_ORDER_MARK = "\ufeff"
"""Some programs begin UTF-8 text with it; it is no part of the first word."""


@contextmanager
def opened(path: Path | None) -> Iterator[BufferedReader]:
    """Opens the file, or standard input if there is none, for the time of the block."""
    if path is None:
        # So Python says that standard input was closed when it started.
        if sys.stdin is None:
            raise InputError("standard input is closed; give a file, or something to read from")
        make_blocking(sys.stdin)
        yield cast(BufferedReader, sys.stdin.buffer)
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    with file:
        yield file


def source_name(path: Path | None) -> str:
    """The source of `opened`, as errors call it."""
    return "standard input" if path is None else str(path)


def read_words(file: BufferedReader, name: str = "standard input") -> Iterator[str]:
    """The words of UTF-8 text. Bytes that are not UTF-8 become U+FFFD: a live stream must go on. Words are cut after
    `LONGEST` letters."""
    yield from (word for word in live_words(file, name) if word is not None)


def live_words(
    file: BufferedReader, name: str = "standard input", patience: Patience = lambda: None
) -> Iterator[str | None]:
    """The same, with a None whenever nothing has come for as long as `patience` allows. Files never make one wait."""
    begun, parts, length = False, list[str](), 0
    for text in _texts(file, name, patience):
        if text is None:
            yield None
            continue
        if not begun:
            text, begun = text.removeprefix(BYTE_ORDER_MARK), True
        # The first part goes on with the word that is pending, the last one becomes it.
        for number, part in enumerate(_SPACE.split(text)):
            if number and parts:
                yield "".join(parts)
                parts, length = [], 0
            if kept := part[: LONGEST - length]:
                parts.append(kept)
                length += len(kept)
    if parts:
        yield "".join(parts)


def live_lines(
    file: BufferedReader, name: str = "standard input", patience: Patience = lambda: None
) -> Iterator[str | None]:
    """The lines of UTF-8 text, each when it is complete, and a None as in `live_words`."""
    begun = ""
    for text in _texts(file, name, patience):
        if text is None:
            yield None
            continue
        # Other line breaks of Unicode may stand inside a line.
        *lines, begun = (begun + text).split("\n")
        yield from (line + "\n" for line in lines)
    if begun:
        yield begun


def _texts(file: BufferedReader, name: str, patience: Patience) -> Iterator[str | None]:
    """What is there each time; none is empty. None is where nothing came in time."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with broken_off(name):
        while True:
            if not _is_there(file, patience()):
                yield None
                continue
            # read1 gives what is there and waits only for the first byte.
            chunk = file.read1(_CHUNK)
            if text := decoder.decode(chunk, final=not chunk):
                yield text
            if not chunk:
                return


def _is_there(file: BufferedReader, seconds: float | None) -> bool:
    """Whether there is something to read, or the end, within so many seconds."""
    if seconds is None:
        return True
    try:
        descriptor = file.fileno()
    except (OSError, ValueError):  # it is no file of the system's
        return True
    return bool(select.select([descriptor], [], [], seconds)[0])


@contextmanager
def broken_off(name: str) -> Iterator[None]:
    """Turns an error while reading into one line for people."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{name}: cannot be read any further: {error.strerror}") from error


def make_blocking(file: IO[Any] | None) -> None:
    """Makes reads wait for input, and writes for room.

    Another program that shares the pipe or the terminal may have left it non-blocking. A read that finds nothing yet
    would then look like the end of the input.
    """
    with suppress(OSError, ValueError, AttributeError):  # it has no descriptor, or is none at all
        os.set_blocking(cast(IO[Any], file).fileno(), True)
