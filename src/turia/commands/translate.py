"""`turia translate`: words from a file or a pipe in, the translation out, each word the moment it is decided.

A record gets two times: when it was written (`ms` since the start), and how far the speech was by then, if the words
came with times (turia.stream.times).
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import TextIO

from turia.engine.stream import Stream
from turia.errors import InputError, ResourceError
from turia.formats.asr_feeds import InputFormat, spoken_words
from turia.formats.output import JsonOutput, Output, OutputFormat, output
from turia.stream.times import SpokenTimes, SpokenWord
from turia.stream.trace import Record, Write
from turia.system.reading import broken_off, make_blocking, opened, read_words, source_name
from turia.system.signals import StopRequests

_OUTPUT = "standard output"


def translate(
    stream: Stream,
    words: Iterable[SpokenWord],
    kind: OutputFormat,
    file: TextIO,
    trace: TextIO | None = None,
    times: SpokenTimes | None = None,
    at_signal: Callable[[], object] | None = None,
) -> int:
    """Translates `words` into `file`, and gives the signal that ended it early, or 0. `times` is the clock to use.

    A signal is obeyed between two words or while one is waited for: what was read is finished all the same. So it is
    when the words break off with an `InputError`, or when one of the two files cannot be written any more, as far as
    the other one goes; that is raised afterwards. With `at_signal`, a signal calls that, and `words` end by themselves.
    """
    began = time.monotonic()
    targets = [_Target(_OUTPUT, file, partial(output, kind, file, stream.header()))]
    if trace is not None:
        name = getattr(trace, "name", "the trace")
        targets.append(_Target(name, trace, partial(JsonOutput, trace, stream.header())))
    times = times or SpokenTimes()

    def put(records: list[Record]) -> None:
        ms = round(1000 * (time.monotonic() - began), 1)
        timed = [replace(record, ms=ms) if isinstance(record, Write) else record for record in times.stamp(records)]
        for target in targets:
            target.put(timed)

    def faults() -> list[Exception]:
        return [target.fault for target in targets if target.fault is not None]

    stop = StopRequests() if at_signal is None else StopRequests(at_signal)
    fault: InputError | None = None
    with stop.noted():
        try:
            for word in stop.until(words) if at_signal is None else words:
                times.push(word)
                put(stream.push(word.text))
                if faults():
                    break
        except InputError as error:
            fault = error
        put(stream.flush())
    for cause in (fault, *faults()):
        if cause is not None:
            raise cause
    return stop.number


class _Target:
    """A file and what is written to it, at once, for as long as that can be done."""

    def __init__(self, name: str, file: TextIO, begin: Callable[[], Output]) -> None:
        self.fault: Exception | None = None
        """Why nothing more is written."""
        self._name, self._file = name, file
        self._writer: Output
        with self._noting_faults():
            self._writer = begin()
            file.flush()

    def put(self, records: list[Record]) -> None:
        if self.fault is None and records:
            with self._noting_faults():
                for record in records:
                    self._writer.write(record)
                self._file.flush()

    @contextmanager
    def _noting_faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # Where the reader of the output has gone, the command line does not complain.
            gone = isinstance(error, BrokenPipeError) and self._name == _OUTPUT
            self.fault = error if gone else _unwritable(self._name, error)


def _unwritable(name: Path | str, error: OSError) -> ResourceError:
    return ResourceError(f"{name}: cannot be written: {error.strerror}")


def words_of(path: Path | None, kind: InputFormat) -> Iterator[SpokenWord]:
    """Words of a file, or of standard input, as they come."""
    with opened(path) as file:
        yield from _words(file, kind, source_name(path))


def _words(file: BufferedReader, kind: InputFormat, name: str) -> Iterator[SpokenWord]:
    # Plain words need no line to be complete.
    if kind == "words":
        yield from map(SpokenWord, read_words(file, name))
    else:
        with broken_off(name):
            yield from spoken_words(kind, (line.decode("utf-8", errors="replace") for line in file), name)


def run(stream: Stream, source: Path | None, feed: InputFormat, kind: OutputFormat, trace: Path | None) -> int:
    """The command: standard output, and a trace file if asked for. Gives the signal that ended it early, or 0."""
    times = SpokenTimes()
    make_blocking(sys.stdout)
    with ExitStack() as stack:
        # Also where it ends by an error.
        stack.callback(_warn_of_losses, stream, times)
        # First: a source that is not there must not cost an older trace.
        read = stack.enter_context(opened(source))
        written = None if trace is None else stack.enter_context(new_trace(trace, read))
        words = _words(read, feed, source_name(source))
        return translate(stream, words, kind, sys.stdout, written, times)


def _warn_of_losses(stream: Stream, times: SpokenTimes) -> None:
    _warn(stream.replaced, "did not reach the model as given (too long, or not text)")
    _warn(times.before_beginning, "came with a time before the beginning; taken for the beginning")


@contextmanager
def new_trace(path: Path, source: BufferedReader | None = None) -> Iterator[TextIO]:
    """The file of a trace, to be written in here; not the one that is read."""
    if source is not None and _is_file(path, source):
        raise InputError(f"--trace {path} is the very file that is read; choose another")
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        yield file
    finally:
        # Some disks say only now that they are full; others say it again.
        try:
            file.close()
        except OSError as error:
            raise _unwritable(path, error) from error


def _is_file(path: Path, source: BufferedReader) -> bool:
    """Whether `path` leads to the file that is open as `source`; a terminal may well be both."""
    with suppress(OSError):
        found = path.stat()
        return stat.S_ISREG(found.st_mode) and os.path.samestat(found, os.fstat(source.fileno()))
    return False


def _warn(count: int, what: str) -> None:
    if count:
        print(f"warning: {count} {'word' if count == 1 else 'words'} {what}", file=sys.stderr)
