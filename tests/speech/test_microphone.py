"""Microphones, by a fake of sounddevice: no machine that runs tests has one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from turia.errors import InputError, ResourceError
from turia.speech import microphone
from turia.speech.microphone import device_list, open_microphone

DEVICES = [
    {"name": "Speakers", "max_input_channels": 0, "default_samplerate": 48_000.0},
    {"name": "Built-in", "max_input_channels": 2, "default_samplerate": 16_000.0},
    {"name": "USB desk", "max_input_channels": 1, "default_samplerate": 48_000.0},
]


class PortAudioError(Exception):
    pass


class InputStream:
    refuses = False
    opened: list[Any] = []  # noqa: RUF012

    def __init__(self, callback: Callable[..., None], **options: Any) -> None:
        if self.refuses:
            raise PortAudioError("Device unavailable")
        self.callback, self.options, self.state = callback, options, "made"
        self.opened.append(self)

    def start(self) -> None:
        self.state = "started"

    def stop(self) -> None:
        self.state = "stopped"

    def close(self) -> None:
        self.state = "closed"

    def record(self, samples: int, level: float = 0.5) -> None:
        self.callback(np.full((samples, 1), level, np.float32), samples, None, None)


def query_devices(device: int | str | None = None, kind: str | None = None) -> Any:
    if kind is None:
        return DEVICES
    found = [each for each in DEVICES if isinstance(device, str) and device in str(each["name"])]
    if device is None:
        found = DEVICES[1:2]
    elif isinstance(device, int):
        found = DEVICES[device : device + 1]
    if not found:
        raise ValueError("No input device matching")
    return found[0]


@pytest.fixture(autouse=True)
def sounddevice(monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = ModuleType("sounddevice")
    module.default = SimpleNamespace(device=(1, 0))
    module.query_devices = query_devices
    module.PortAudioError = PortAudioError
    module.InputStream = type("Stream", (InputStream,), {"opened": []})
    monkeypatch.setitem(sys.modules, "sounddevice", module)
    return module


def test_only_devices_that_record_are_listed_and_the_default_is_marked() -> None:
    assert device_list() == "*   1  Built-in\n    2  USB desk"


def test_what_is_recorded_comes_out_at_our_rate_and_the_device_is_closed(sounddevice: Any) -> None:
    with open_microphone() as opened:
        assert opened.name == "Built-in"
        (stream,) = sounddevice.InputStream.opened
        assert stream.options["samplerate"] == 16_000
        stream.record(1600)
        assert next(opened.sound()).tolist() == [0.5] * 1600
    assert stream.state == "closed"


@pytest.mark.parametrize("device", ["2", "USB"])
def test_a_device_is_chosen_by_number_or_name(sounddevice: Any, device: str) -> None:
    with open_microphone(device) as opened:
        (stream,) = sounddevice.InputStream.opened
        for _ in range(5):
            stream.record(4800)
        assert opened.name == "USB desk"
        assert len(next(opened.sound())) == 1600, "a tenth of a second"


def test_sound_that_nobody_takes_is_counted_and_not_kept(sounddevice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microphone, "WAITING", 3)
    with open_microphone() as opened:
        for _ in range(5):
            sounddevice.InputStream.opened[0].record(1600)
        assert opened.lost == pytest.approx(0.2)


@pytest.mark.parametrize(("device", "cause"), [(None, "no microphone was found"), ("tape", "no microphone 'tape'")])
def test_no_device_is_told(monkeypatch: pytest.MonkeyPatch, device: str | None, cause: str) -> None:
    monkeypatch.setattr(sys.modules[__name__], "DEVICES", [])
    with pytest.raises(InputError, match=cause), open_microphone(device):
        pass


def test_a_number_is_in_plain_digits() -> None:
    with pytest.raises(InputError, match="no microphone '\u0662'"), open_microphone("\u0662"):
        pass


def test_a_device_that_refuses_is_told(sounddevice: Any) -> None:
    sounddevice.InputStream.refuses = True
    with pytest.raises(ResourceError, match="'Built-in' cannot be opened: Device unavailable"), open_microphone():
        pass


def test_a_machine_without_portaudio_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    class Missing:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "sounddevice":
                raise OSError("PortAudio library not found")

    monkeypatch.delitem(sys.modules, "sounddevice")
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    with pytest.raises(ResourceError, match="apt-get install libportaudio2"):
        device_list()
