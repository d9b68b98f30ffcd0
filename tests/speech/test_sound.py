"""Sound from files and pipes."""

from __future__ import annotations

import io
import os
import threading
import wave
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import cast

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turia.errors import FormatError, InputError
from turia.speech.recogniser import RATE, Samples
from turia.speech.sound import BLOCK, Resampler, file_sound, in_blocks, paced, pcm_sound, until


def tone(rate: int, seconds: float = 1.0) -> Samples:
    return (0.5 * np.sin(2 * np.pi * 440 * np.arange(round(rate * seconds)) / rate)).astype(np.float32)


def write_wav(path: Path, samples: Samples, rate: int, channels: int = 1) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(np.repeat((32767 * samples).astype("<i2"), channels).tobytes())
    return path


def encode(path: Path, codec: str, rate: int) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        frame = av.AudioFrame.from_ndarray((32767 * tone(rate)).astype("<i2")[None], "s16", "mono")
        frame.sample_rate = rate
        assert isinstance(stream, av.AudioStream)
        for made in (frame, None):
            container.mux(stream.encode(made))
    return path


def joined(sound: Iterator[Samples]) -> Samples:
    return np.concatenate(list(sound))


def same_tone(samples: Samples) -> bool:
    """Whether it is a second of our tone; its edges may differ."""
    spectrum = np.abs(np.fft.rfft(samples[:RATE]))
    return bool(abs(int(spectrum.argmax()) - 440) <= 2 and abs(len(samples) - RATE) < RATE // 10)


@pytest.mark.parametrize(("rate", "channels"), [(16_000, 1), (8_000, 1), (44_100, 2), (48_000, 6)])
def test_wav_files_of_any_rate_and_channels(tmp_path: Path, rate: int, channels: int) -> None:
    sound = joined(file_sound(write_wav(tmp_path / "a.wav", tone(rate), rate, channels)))
    assert same_tone(sound)
    assert sound.dtype == np.float32
    if channels == 1:
        assert np.abs(sound).max() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("name", "codec"), [("a.mp3", "mp3"), ("a.flac", "flac"), ("a.mp4", "aac")])
def test_compressed_files_and_videos(tmp_path: Path, name: str, codec: str) -> None:
    assert same_tone(joined(file_sound(encode(tmp_path / name, codec, 44_100))))


def test_files_that_are_no_sound_are_refused_in_clear_words(tmp_path: Path) -> None:
    text, noise = tmp_path / "talk.txt", tmp_path / "noise.wav"
    text.write_text("no sound at all\n" * 50)
    noise.write_bytes(bytes(range(1, 256)) * 40)
    mute = tmp_path / "mute.mp4"
    with av.open(str(mute), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        picture = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), "rgb24")
        for made in (picture, None):
            container.mux(stream.encode(made))
    cut = tmp_path / "cut.wav"
    cut.write_bytes(write_wav(tmp_path / "whole.wav", tone(RATE), RATE).read_bytes()[:40])
    empty = write_wav(tmp_path / "empty.wav", tone(RATE, 0.0), RATE)
    for path, cause in (
        # FFmpeg takes any text for subtitles or a picture.
        (text, "there is no sound in this file"),
        (noise, "not a sound or video file"),
        (mute, "there is no sound in this file"),
        (cut, "not a sound or video file|sound track of this file is empty"),
        (empty, "the sound track of this file is empty"),
    ):
        with pytest.raises(FormatError, match=cause):
            list(file_sound(path))
    with pytest.raises(InputError, match="no such file"):
        list(file_sound(tmp_path / "none.wav"))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 3000), min_size=1, max_size=20))
def test_any_chunking_is_resampled_to_the_same_sound(cuts: list[int]) -> None:
    whole = tone(44_100, 0.5)
    once = Resampler(44_100)
    expected = np.concatenate([once.push(whole), once.flush()])
    cut, parts, at = Resampler(44_100), [], 0
    for length in [*cuts, len(whole)]:
        parts.append(cut.push(whole[at : at + length]))
        at += length
    assert np.allclose(np.concatenate([*parts, cut.flush()]), expected, atol=1e-5)


@pytest.mark.parametrize("rate", [0, 1000, 1_000_000])
def test_a_rate_that_is_none_is_refused(rate: int) -> None:
    with pytest.raises(InputError, match="a sample rate of"):
        Resampler(rate)


def test_raw_sound_is_mixed_and_a_half_sample_at_the_end_is_left() -> None:
    frames = np.array([[100, 300], [-32768, -32768], [0, 32767]], "<i2").tobytes() + b"\x01"
    sound = joined(pcm_sound(cast(BufferedReader, io.BytesIO(frames)), RATE, 2))
    assert sound.tolist() == pytest.approx([200 / 32768, -1.0, 16383.5 / 32768])


def test_raw_sound_comes_out_before_its_end() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:
        blocks = pcm_sound(file)
        pipe.write(b"\x00\x40" * BLOCK)
        assert next(blocks).tolist() == [0.5] * BLOCK


def test_pieces_have_one_length_but_the_last() -> None:
    sound = tone(RATE, 0.33)
    blocks = list(in_blocks([sound[:5], sound[5:4000], sound[4000:]]))
    assert [len(block) for block in blocks] == [1600, 1600, 1600, 480]
    assert np.array_equal(np.concatenate(blocks), sound)


def test_a_file_is_as_fast_as_it_was_spoken_and_late_sound_is_not_made_later() -> None:
    clock, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock[0] += seconds

    blocks = paced([np.zeros(RATE, np.float32)] * 4, lambda: clock[0], sleep)
    next(blocks)
    next(blocks)
    clock[0] += 1.5
    next(blocks)
    next(blocks)
    assert slept == pytest.approx([1.0, 1.0, 0.0, 0.5])


def test_a_wait_for_sound_can_be_ended() -> None:
    ended, blocked = threading.Event(), threading.Event()

    def sound() -> Iterator[Samples]:
        yield np.ones(3, np.float32)
        ended.set()
        blocked.wait()

    assert [block.tolist() for block in until(ended, sound())] in ([[1.0, 1.0, 1.0]], [])
    blocked.set()


def test_whoever_is_late_is_told() -> None:
    """All of the sound is there before the first piece is asked for again."""
    read, told = threading.Event(), list[bool]()

    def pieces() -> Iterator[Samples]:
        yield from [np.zeros(1, np.float32)] * 21
        read.set()

    for _ in until(threading.Event(), pieces(), told.append):
        assert read.wait(30)
    assert (told[1], told[-1]) == (True, False), "19 of 21 wait behind the second, and none behind the last"


def test_a_fault_of_the_source_reaches_whoever_listens() -> None:
    def sound() -> Iterator[Samples]:
        yield np.ones(3, np.float32)
        raise InputError("broken off")

    blocks = until(threading.Event(), sound())
    assert len(next(blocks)) == 3
    with pytest.raises(InputError, match="broken off"):
        next(blocks)
