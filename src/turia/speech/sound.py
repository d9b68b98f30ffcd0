"""Sound from files and pipes, as recognisers want it: 16 kHz, mono, in blocks of a tenth of a second or so.

Files are decoded by PyAV, which knows what FFmpeg knows; rates are converted by soxr. Both are of the audio extra, and
are imported where they are first used.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from turia.errors import FormatError, InputError
from turia.speech.recogniser import RATE, Samples

if TYPE_CHECKING:
    import av

BLOCK = RATE // 10
"""Samples of a block."""
LOWEST_RATE, HIGHEST_RATE = 4_000, 192_000
AHEAD = 50
"""Pieces that are read before they are needed: five seconds."""
LATE = 10
"""Pieces that wait when whoever listens is late: a second, as on a server."""
POLL = 0.2
"""Seconds after which a wait for sound looks whether it should end."""


class Resampler:
    """Sound of another rate in, ours out. Any chunking gives the same sound."""

    def __init__(self, rate: int) -> None:
        if not LOWEST_RATE <= rate <= HIGHEST_RATE:
            raise InputError(f"a sample rate of {rate}: expected {LOWEST_RATE} to {HIGHEST_RATE} samples a second")
        import soxr

        self._stream = None if rate == RATE else soxr.ResampleStream(rate, RATE, 1, dtype="float32")

    def push(self, samples: Samples) -> Samples:
        return self._resample(samples, last=False)

    def flush(self) -> Samples:
        return self._resample(np.zeros(0, np.float32), last=True)

    def _resample(self, samples: Samples, last: bool) -> Samples:
        if self._stream is None:
            return samples
        converted: Samples = self._stream.resample_chunk(samples, last=last)
        return converted


def resampled(sound: Iterable[Samples], rate: int) -> Iterator[Samples]:
    """Sound of any rate, at ours."""
    resampler = Resampler(rate)
    for samples in sound:
        yield resampler.push(samples)
    yield resampler.flush()


def in_blocks(sound: Iterable[Samples]) -> Iterator[Samples]:
    """The same sound in blocks of a tenth of a second; the last one may be shorter."""
    rest = np.zeros(0, np.float32)
    for samples in sound:
        rest = np.concatenate([rest, samples])
        whole = len(rest) // BLOCK * BLOCK
        for begin in range(0, whole, BLOCK):
            yield rest[begin : begin + BLOCK]
        rest = rest[whole:]
    if len(rest):
        yield rest


def file_sound(path: Path) -> Iterator[Samples]:
    """The first sound track of a recording or a video."""
    import av

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise FormatError("there is no sound in this file", path)
            yield from in_blocks(_decoded(container, path))
    except av.error.InvalidDataError as error:
        raise FormatError("not a sound or video file that FFmpeg knows, or a damaged one", path) from error
    except av.error.FFmpegError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _decoded(container: av.container.InputContainer, path: Path) -> Iterator[Samples]:
    import av

    resampler: Resampler | None = None
    mono: av.AudioResampler | None = None
    for frame in container.decode(audio=0):
        if mono is None or resampler is None:
            # PyAV mixes the channels, soxr converts the rate.
            mono, resampler = av.AudioResampler("flt", "mono", frame.sample_rate), Resampler(frame.sample_rate)
        for mixed in mono.resample(frame):
            yield resampler.push(np.ascontiguousarray(mixed.to_ndarray()[0]))
    if resampler is None:
        raise FormatError("the sound track of this file is empty", path)
    yield resampler.flush()


def pcm_sound(file: BufferedReader, rate: int = RATE, channels: int = 1) -> Iterator[Samples]:
    """Raw sound as it comes: 16-bit samples, little-endian, the channels in turn."""
    width = 2 * channels

    def mixed() -> Iterator[Samples]:
        rest = b""
        while data := file.read1(width * BLOCK):
            data = rest + data
            whole = len(data) // width * width
            frames = np.frombuffer(data[:whole], "<i2").reshape(-1, channels)
            yield (frames.mean(axis=1) / 32768).astype(np.float32)
            rest = data[whole:]

    yield from in_blocks(resampled(mixed(), rate))


def paced(sound: Iterable[Samples], now: Callable[[], float], sleep: Callable[[float], object]) -> Iterator[Samples]:
    """The sound at the speed at which it was spoken: a block comes when its last sample is over."""
    began, seconds = now(), 0.0
    for samples in sound:
        seconds += len(samples) / RATE
        sleep(max(0.0, began + seconds - now()))
        yield samples


def until(
    ended: threading.Event, sound: Iterable[Samples], late: Callable[[bool], object] = lambda _: None
) -> Iterator[Samples]:
    """The sound, until it is over or `ended` is set, also while more of it is waited for.

    Before each piece `late` is told whether more than `LATE` of them wait.
    """
    blocks: queue.Queue[Samples | Exception | None] = queue.Queue(AHEAD)

    def put(block: Samples | Exception | None) -> None:
        while not ended.is_set():
            with suppress(queue.Full):
                blocks.put(block, timeout=POLL)
                return

    def read() -> None:
        try:
            for block in sound:
                put(block)
                if ended.is_set():
                    return
        except Exception as error:
            put(error)
        else:
            put(None)

    threading.Thread(target=read, daemon=True).start()
    while not ended.is_set():
        try:
            block = blocks.get(timeout=POLL)
        except queue.Empty:
            continue
        if block is None:
            return
        if isinstance(block, Exception):
            raise block
        late(blocks.qsize() > LATE)
        yield block
