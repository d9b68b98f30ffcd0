"""`turia translate`: words from a file or a pipe in, the translation out, each word the moment it is decided.

A record gets two times: when it was written (`ms` since the start), and how far the speech was by then, if the words
came with times (turia.stream.times). A pause of the speaker closes the sentence (turia.stream.silence), and so does
another speaker (turia.stream.speakers).
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
from turia.formats.asr_feeds import InputFormat, heard
from turia.formats.output import JsonOutput, Output, OutputFormat, output
from turia.runtime.glossary_file import GlossaryFile
from turia.stream.silence import PAUSE, Silence, TimeGaps
from turia.stream.speakers import SpeakerChanges, speaker_note
from turia.stream.times import Heard, Silent, SpokenTimes, SpokenWord, UnstableTail
from turia.stream.trace import Record, Write
from turia.system.reading import live_lines, live_words, make_blocking, opened, source_name
from turia.system.signals import StopRequests
from turia.text.counted import counted
from turia.text.glossary import Glossary

_OUTPUT = "standard output"


def translate(
    stream: Stream,
    words: Iterable[Heard],
    kind: OutputFormat,
    file: TextIO,
    trace: TextIO | None = None,
    times: SpokenTimes | None = None,
    at_signal: Callable[[], object] | None = None,
    pause: float = PAUSE,
    terms: GlossaryFile | None = None,
) -> int:
    """Translates `words` into `file`, and gives the signal that ended it early, or 0. `times` is the clock to use.

    `pause` is the gap, in seconds between the times of two words, that closes a sentence; 0 for none. `terms` is a
    glossary that may change meanwhile.

    A signal is obeyed between two words or while one is waited for: what was read is finished all the same. So it is
    when the words break off with an `InputError`, or when one of the two files cannot be written any more, as far as
    the other one goes; that is raised afterwards. With `at_signal`, a signal calls that, and `words` end by themselves.
    """
    began = time.monotonic()
    followed = None if terms is None else _follow(stream, terms, None)
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

    def take(item: Heard) -> None:
        nonlocal followed
        if terms is not None:
            followed = _follow(stream, terms, followed)
        match item:
            case SpokenWord():
                name, paused = speakers.before(item), gaps.before(item)
                if name is not None or paused:
                    put(stream.push_pause())
                if name is not None:
                    put([speaker_note(name, stream.sentence)])
                times.push(item)
                put(stream.push(item.text, time.monotonic() - began if item.end is None else item.end))
            case UnstableTail(text):
                put(stream.push_partial(text).records)
            case Silent():
                put(stream.push_pause())

    gaps, speakers = TimeGaps(pause), SpeakerChanges()
    stop = StopRequests() if at_signal is None else StopRequests(at_signal)
    fault: InputError | None = None
    with stop.noted():
        try:
            for item in stop.until(words) if at_signal is None else words:
                take(item)
                if faults():
                    break
        except InputError as error:
            fault = error
        put(stream.flush())
    for cause in (fault, *faults()):
        if cause is not None:
            raise cause
    return stop.number


def _follow(stream: Stream, terms: GlossaryFile, before: Glossary | None) -> Glossary:
    """Gives the stream the terms of the file if they have changed."""
    now = terms.current()
    if now is not before:
        stream.change(glossary=now)
    return now


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


def heard_in(path: Path | None, kind: InputFormat, pause: float = PAUSE, partials: bool = True) -> Iterator[Heard]:
    """What is heard in a file, or in standard input, as it comes; see `_heard`."""
    with opened(path) as file:
        yield from _heard(file, kind, source_name(path), pause, partials)


def _heard(file: BufferedReader, kind: InputFormat, name: str, pause: float, partials: bool) -> Iterator[Heard]:
    """Words, tails if `partials` are asked for, and a silence when nothing was said for `pause` seconds (0: never)."""
    silence, now = Silence(pause), time.monotonic

    def patience() -> float | None:
        silence.will_wait()
        return silence.left(now())

    # Plain words need no line to be complete.
    if kind == "words":
        words = live_words(file, name, patience)
        items: Iterator[Heard] = (Silent() if word is None else SpokenWord(word) for word in words)
    else:
        items = heard(kind, live_lines(file, name, patience), name)
    for item in items:
        if isinstance(item, Silent):
            silence.paused()
        elif isinstance(item, SpokenWord) or item.text:
            silence.said(now(), partial=isinstance(item, UnstableTail))
        if partials or not isinstance(item, UnstableTail):
            yield item


def run(
    stream: Stream,
    source: Path | None,
    feed: InputFormat,
    kind: OutputFormat,
    trace: Path | None,
    pause: float = PAUSE,
    partials: bool = True,
    terms: GlossaryFile | None = None,
) -> int:
    """The command: standard output, and a trace file if asked for. Gives the signal that ended it early, or 0."""
    times = SpokenTimes()
    make_blocking(sys.stdout)
    with ExitStack() as stack:
        # Also where it ends by an error.
        stack.callback(_warn_of_losses, stream, times)
        # First: a source that is not there must not cost an older trace.
        read = stack.enter_context(opened(source))
        written = None if trace is None else stack.enter_context(new_trace(trace, read))
        words = _heard(read, feed, source_name(source), pause, partials)
        return translate(stream, words, kind, sys.stdout, written, times, pause=pause, terms=terms)


def _warn_of_losses(stream: Stream, times: SpokenTimes) -> None:
    _warn(stream.replaced, "did not reach the model as given (too long, no text, or in another script)")
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
        warn(f"{counted(count, 'word')} {what}")


def warn(text: str) -> None:
    """Tells the user something that is no error."""
    print(f"warning: {text}", file=sys.stderr)
