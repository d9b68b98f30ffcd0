"""`turia listen`: sound from a microphone, a file or a pipe in, captions out.

At a signal the sound ends, and what was said until then is understood and translated to its end.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from turia.commands.send import send
from turia.commands.translate import new_trace, translate
from turia.engine.stream import Stream
from turia.errors import InputError
from turia.formats.output import OutputFormat
from turia.protocol.client import Speaker
from turia.speech.check import SILENT_PEAK
from turia.speech.hearing import Hearing
from turia.speech.microphone import open_microphone
from turia.speech.recogniser import RATE, Recogniser, Samples
from turia.speech.sound import file_sound, paced, pcm_sound, until
from turia.stream.silence import PAUSE
from turia.stream.times import Heard
from turia.system.reading import make_blocking, opened

PIPE = Path("-")
NOT_UNDERSTOOD = ("no-words", "unsure")
PATIENCE = 10.0
"""Seconds of silence from a microphone after which the user is told."""


@dataclass(frozen=True)
class SoundSource:
    """Where the sound comes from: a microphone unless there is a file; `-` is standard input."""

    file: Path | None = None
    device: str | None = None
    rate: int = RATE
    channels: int = 1
    """Of standard input."""
    fast: bool = False
    """A file is read as fast as it goes, not as fast as it was spoken."""

    @property
    def live(self) -> bool:
        """Whether the sound has no known end: a microphone or a pipe."""
        return self.file is None or self.file == PIPE

    @property
    def timed(self) -> bool:
        """Whether sound comes at the pace of the speech. What a pipe brings may come faster."""
        return self.file is None or (self.file != PIPE and not self.fast)

    def check(self, trace: Path | None) -> None:
        """Refuses a missing file, as it must not cost an older trace, and a trace that is the sound itself."""
        if self.file is None or self.file == PIPE:
            return
        if self.file.is_dir():
            raise InputError(f"{self.file}: a folder; give one recording")
        if not self.file.exists():
            raise InputError(f"{self.file}: no such file")
        if not self.file.is_file():
            raise InputError(f"{self.file}: a pipe or a device, not a file; raw sound comes by standard input: give -")
        if trace is not None and trace.exists() and trace.samefile(self.file):
            raise InputError(f"--trace {trace} is the very file that is listened to; choose another")

    @contextmanager
    def opened(self) -> Iterator[Iterable[Samples]]:
        if self.file is None:
            with open_microphone(self.device) as microphone:
                _say(f"listening to {microphone.name}; Ctrl-C ends it")
                yield microphone.sound()
            if microphone.lost:
                _say(f"warning: {microphone.lost:.0f} seconds of sound were lost; this machine is too slow")
        elif self.file == PIPE:
            with opened(None) as pipe:
                if pipe.isatty():
                    raise InputError("standard input is a terminal; send 16-bit sound to it, or give a file")
                yield pcm_sound(pipe, self.rate, self.channels)
        else:
            sound = file_sound(self.file)
            yield sound if self.fast else paced(sound, time.monotonic, time.sleep)


class Listener:
    """Runs a recogniser over a sound, and looks after what users should know of it."""

    def __init__(
        self, recogniser: Recogniser, source: SoundSource, pause: float = PAUSE, partials: bool = True
    ) -> None:
        """`pause` is the silence, in seconds of the sound, that closes a sentence; 0 for none."""
        self.ended = threading.Event()
        """Set from outside to end the sound."""
        self.source, self.pause = source, pause
        self.hearing = Hearing(recogniser, pause, partials)
        self._warned: set[str] = set()

    def heard(self) -> Iterator[Heard]:
        """Words, unstable tails if they are wanted, and silences. The clock is that of the sound."""
        with self.source.opened() as sound:
            told = self.source.file is not None
            for samples in until(self.ended, sound, self._hurry):
                yield from self.hearing.push(samples)
                if self.source.live:
                    self._warn()
                if not told and self.hearing.check.seconds >= PATIENCE:
                    told = True
                    if self.hearing.check.peak < SILENT_PEAK:
                        _say("nothing heard yet; is the microphone on? (turia listen --devices lists others)")
        yield from self.hearing.flush()

    def _hurry(self, late: bool) -> None:
        """Leaves out guesses while sound waits: a machine that is too slow for guesses may be fast enough for words."""
        self.hearing.recogniser.hurried = late and self.source.timed

    def _warn(self) -> None:
        """Says once what is wrong, while it can still be put right. Silence is told at the beginning alone."""
        for complaint in self.hearing.new_complaints():
            if complaint.code != "silent" and complaint.code not in self._warned:
                self._warned.add(complaint.code)
                _say(f"warning: in the last seconds, {complaint.message}")

    def complain(self) -> None:
        """Says what is wrong with the whole sound, when it is over."""
        complaints = self.hearing.complaints()
        for complaint in complaints:
            _say(f"warning: {complaint.message}")
        # Raw sound does not say what it is, and at a wrong rate nobody understands it.
        if self.source.file == PIPE and any(complaint.code in NOT_UNDERSTOOD for complaint in complaints):
            _say(
                f"standard input was read as 16-bit sound of {self.source.rate} Hz, channels: {self.source.channels}; "
                f"if it is another, give --rate and --channels"
            )


def run(stream: Stream, listener: Listener, kind: OutputFormat, trace: Path | None, file: TextIO) -> int:
    """Captions to `file`, and a trace if asked for; gives the signal that ended it early, or 0."""
    listener.source.check(trace)
    make_blocking(sys.stdout)
    with ExitStack() as stack:
        stack.callback(listener.complain)
        written = None if trace is None else stack.enter_context(new_trace(trace))
        return translate(
            stream, listener.heard(), kind, file, written, at_signal=listener.ended.set, pause=listener.pause
        )


def run_to_server(chosen: Speaker, listener: Listener) -> int:
    """Captions by a session of a running server; gives the signal that ended it early, or 0."""
    listener.source.check(None)  # a missing file must not begin a session, or take a room

    async def speak() -> int:
        async with chosen as speaker:
            _say(speaker.page)
            _say(f"Operator: {speaker.operator_page}")
            return await send(speaker, listener.heard(), sys.stdout, at_signal=listener.ended.set, pause=listener.pause)

    try:
        return asyncio.run(speak())
    finally:
        listener.complain()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
