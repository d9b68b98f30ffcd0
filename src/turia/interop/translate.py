"""`turia translate`: words from a file or a pipe in, the translation out, each word the moment it is decided."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import TextIO, cast

from turia.engine.stream import Stream
from turia.errors import InputError
from turia.interop.output import OutputFormat, output
from turia.stream.trace import Record, Write, header_line, record_line
from turia.text.reading import read_words


def translate(
    stream: Stream, words: Iterable[str], kind: OutputFormat, file: TextIO, trace: TextIO | None = None
) -> bool:
    """Translates `words` into `file`; True if it was interrupted: then what was read is finished all the same."""
    began = time.monotonic()
    writer = output(kind, file, stream.header())
    if trace is not None:
        trace.write(header_line(stream.header()) + "\n")

    def put(records: list[Record]) -> None:
        ms = round(1000 * (time.monotonic() - began), 1)
        for record in records:
            timed = replace(record, ms=ms) if isinstance(record, Write) else record
            writer.write(timed)
            if trace is not None:
                trace.write(record_line(timed) + "\n")
        if records:
            file.flush()

    interrupted = False
    try:
        for word in words:
            put(stream.push(word))
    except KeyboardInterrupt:
        interrupted = True
    put(stream.flush())
    file.flush()
    return interrupted


def words_of(path: Path | None) -> Iterator[str]:
    """Words of a file, or of standard input, as they come."""
    if path is None:
        yield from read_words(cast(BufferedReader, sys.stdin.buffer))
        return
    try:
        opened = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    with opened:
        yield from read_words(opened)


def run(stream: Stream, source: Path | None, kind: OutputFormat, trace: Path | None) -> bool:
    """The command: standard output, and a trace file if asked for."""
    with ExitStack() as stack:
        file = None
        if trace is not None:
            try:
                file = stack.enter_context(trace.open("w", encoding="utf-8"))
            except OSError as error:
                raise InputError(f"{trace}: cannot be written: {error.strerror}") from error
        return translate(stream, words_of(source), kind, sys.stdout, file)
