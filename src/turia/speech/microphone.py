"""Sound from a microphone, by sounddevice (PortAudio).

PortAudio's thread hands over what was recorded. What the recogniser has not taken yet waits here, at most a minute of
it. What comes after that is lost, and counted.
"""

from __future__ import annotations

import queue
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from turia.errors import InputError, ResourceError
from turia.speech.recogniser import Samples
from turia.speech.sound import in_blocks, resampled

BLOCK_SECONDS = 0.1
WAITING = 600
"""Blocks that may wait: a minute."""
_NUMBER = re.compile(r"[0-9]{1,9}")


def device_list() -> str:
    """The devices that can record, one a line, with the number and name by which one is chosen."""
    sounddevice = _portaudio()
    chosen = sounddevice.default.device[0]
    lines = [
        f"{'*' if number == chosen else ' '} {number:3d}  {device['name']}"
        for number, device in enumerate(sounddevice.query_devices())
        if device["max_input_channels"] > 0
    ]
    return "\n".join(lines)


class Microphone:
    """An open device. `sound` goes on until somebody stops asking for it."""

    def __init__(self, device: str | None = None) -> None:
        """`device` is a number or a part of a name, as `device_list` shows them; None is the system's choice."""
        sounddevice = _portaudio()
        self.lost = 0.0
        """Seconds of sound that nobody took in time."""
        self._blocks: queue.Queue[Samples] = queue.Queue(WAITING)
        number: int | str | None = (
            int(device) if device is not None and _NUMBER.fullmatch(device) is not None else device
        )
        try:
            found: dict[str, Any] = sounddevice.query_devices(number, "input")
        except (ValueError, sounddevice.PortAudioError) as error:
            raise InputError(_no_device(device)) from error
        self.name, self._rate = str(found["name"]), int(found["default_samplerate"])
        try:
            self._stream = sounddevice.InputStream(
                samplerate=self._rate,
                blocksize=round(self._rate * BLOCK_SECONDS),
                device=number,
                channels=1,
                dtype="float32",
                callback=self._take,
            )
            self._stream.start()
        except sounddevice.PortAudioError as error:
            raise ResourceError(
                f"the microphone {self.name!r} cannot be opened: {error.args[0]}; another program may use it, or this "
                f"one may not be allowed to"
            ) from error

    def sound(self) -> Iterator[Samples]:
        def blocks() -> Iterator[Samples]:
            while True:
                yield self._blocks.get()

        return in_blocks(resampled(blocks(), self._rate))

    def close(self) -> None:
        self._stream.stop()
        self._stream.close()

    def _take(self, block: Any, frames: int, time: object, status: object) -> None:
        try:
            self._blocks.put_nowait(np.array(block[:, 0], np.float32))
        except queue.Full:
            self.lost += frames / self._rate


@contextmanager
def open_microphone(device: str | None = None) -> Iterator[Microphone]:
    """The microphone, which records in here."""
    microphone = Microphone(device)
    try:
        yield microphone
    finally:
        microphone.close()


def _portaudio() -> ModuleType:
    try:
        import sounddevice
    except OSError as error:
        raise ResourceError(
            "the PortAudio library is not installed, which microphones need; on Debian and Ubuntu: "
            "apt-get install libportaudio2"
        ) from error
    return sounddevice  # type: ignore[no-any-return]


def _no_device(device: str | None) -> str:
    if device is None:
        return "no microphone was found; connect one, or give a file (turia listen --devices lists what there is)"
    return f"no microphone {device!r}; turia listen --devices lists what there is"
