"""`turia listen`: from sound to captions. Most tests have a decoder that hears levels of loudness as words."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from tests.engine.fakes import Echo, fake_model
from tests.formats.cues import parse
from tests.server.servers import FakeServer
from tests.speech.fakes import LevelDecoder, loud, sound
from tests.speech.test_sound import write_wav
from turia.cli import main
from turia.commands import listen
from turia.commands.listen import PIPE, Listener, SoundSource
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import InputError
from turia.segmenter.online import GivenSegmenter
from turia.speech import check, choice
from turia.speech.recogniser import RATE, Samples
from turia.speech.redecoding import RedecodingRecogniser
from turia.speech.sound import file_sound
from turia.speech.vosk import as_pcm
from turia.stream.times import Heard, Silent, SpokenWord, UnstableTail
from turia.stream.trace import parse_trace

ENGLISH = Path(__file__).parents[2] / "examples/speech/english.wav"
SPOKEN = sound((0, 0.5), (1, 0.7), (2, 0.7), (0, 1.0), (3, 0.8), (0, 1.0), (4, 0.5))
WORDS = ["w1", "w2", "w3", "w4"]


def recogniser() -> RedecodingRecogniser:
    return RedecodingRecogniser(LevelDecoder(), loud)


def said(listener: Listener) -> list[str]:
    return [item.text for item in listener.heard() if isinstance(item, SpokenWord)]


def stream() -> Stream:
    return Stream(fake_model(Echo()), GivenSegmenter([2, 2]), Settings(k=1))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_wav(tmp_path / "talk.wav", SPOKEN, RATE)


def test_a_recording_becomes_captions_and_a_trace_with_the_times_of_the_sound(recording: Path, tmp_path: Path) -> None:
    out, trace = io.StringIO(), tmp_path / "trace.jsonl"
    listener = Listener(recogniser(), SoundSource(recording, fast=True))
    assert listen.run(stream(), listener, "srt", trace, out) == 0
    cues = parse(out.getvalue())
    assert [cue.text for cue in cues] == ["w1 w2", "w3 w4"]
    parsed = parse_trace(trace.read_text(encoding="utf-8").splitlines())
    assert parsed.words() == WORDS
    assert [write.read_seconds for write in parsed.writes()] == pytest.approx([1.2, 1.9, 3.7, 5.2], abs=0.1)


def test_a_trace_never_costs_the_sound_nor_a_missing_sound_an_older_trace(recording: Path, tmp_path: Path) -> None:
    before, trace = recording.read_bytes(), tmp_path / "trace.jsonl"
    with pytest.raises(InputError, match="is the very file that is listened to"):
        listen.run(stream(), Listener(recogniser(), SoundSource(recording)), "text", recording, io.StringIO())
    trace.write_text("older")
    with pytest.raises(InputError, match="no such file"):
        listen.run(stream(), Listener(recogniser(), SoundSource(tmp_path / "none")), "text", trace, io.StringIO())
    assert (recording.read_bytes(), trace.read_text()) == (before, "older")


def test_raw_sound_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stereo = np.repeat(np.frombuffer(as_pcm(SPOKEN), "<i2"), 2).tobytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stereo)))
    listener = Listener(recogniser(), SoundSource(PIPE, channels=2))
    assert said(listener) == WORDS


def test_raw_sound_that_nobody_understands_may_have_another_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hum = np.full(6 * RATE, 0.01, np.float32)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_pcm(hum))))
    listener = Listener(recogniser(), SoundSource(PIPE))
    assert said(listener) == []
    listener.complain()
    assert capsys.readouterr().err.splitlines() == [
        "warning: no words were understood in 6 seconds of sound",
        "standard input was read as 16-bit sound of 16000 Hz, channels: 1; if it is another, give --rate and "
        "--channels",
    ]


def shown(items: Iterable[Heard]) -> list[str]:
    """Words as they are, tails in brackets, a silence as "..."."""
    texts = []
    for item in items:
        match item:
            case SpokenWord(text):
                texts.append(text)
            case UnstableTail(text):
                texts.append(f"[{text}]")
            case Silent():
                texts.append("...")
    return texts


def test_guesses_are_tails_and_a_silence_closes_the_sentence(tmp_path: Path) -> None:
    spoken = sound((1, 0.7), (2, 0.7), (0, 2.0), (3, 0.8), (0, 0.5))
    recording = write_wav(tmp_path / "talk.wav", spoken, RATE)
    source = SoundSource(recording, fast=True)
    heard = shown(Listener(recogniser(), source).heard())
    assert heard == ["[w1]", "w1", "[w2]", "w2", "...", "[w3]", "w3"]
    assert shown(Listener(recogniser(), source, partials=False).heard()) == ["w1", "w2", "...", "w3"]
    assert "..." not in shown(Listener(recogniser(), source, pause=0.0).heard())


def test_a_terminal_is_no_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    leader, follower = os.openpty()
    with open(leader, "rb", buffering=0), open(follower) as file:
        monkeypatch.setattr(sys, "stdin", file)
        with pytest.raises(InputError, match="standard input is a terminal"):
            next(Listener(recogniser(), SoundSource(PIPE)).heard())


class FakeMicrophone:
    """Records what it is given, and then waits for ever, as a microphone does."""

    name, lost = "desk", 0.0

    def __init__(self, samples: Samples, then: threading.Event) -> None:
        self._samples, self._then = samples, then
        self.closed = False

    def __enter__(self) -> FakeMicrophone:
        return self

    def __exit__(self, *error: object) -> None:
        self.closed = True

    def sound(self) -> Iterator[Samples]:
        for begin in range(0, len(self._samples), 1600):
            yield self._samples[begin : begin + 1600]
        self._then.wait()


def test_a_signal_ends_the_microphone_and_what_was_said_is_captioned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    never = threading.Event()
    spoken = SPOKEN[: -RATE // 4]
    microphone = FakeMicrophone(spoken, never)
    monkeypatch.setattr(listen, "open_microphone", lambda device: microphone)
    listener, out = Listener(recogniser(), SoundSource()), io.StringIO()

    def interrupt() -> None:
        while listener.hearing.check.samples < len(spoken):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    assert listen.run(stream(), listener, "text", None, out) == signal.SIGINT
    assert out.getvalue() == "w1 w2\nw3 w4\n", "the last word was still open"
    assert microphone.closed
    assert capsys.readouterr().err == "listening to desk; Ctrl-C ends it\n"
    never.set()


def test_a_silent_microphone_is_told_while_it_is_listened_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    never = threading.Event()
    never.set()
    monkeypatch.setattr(listen, "open_microphone", lambda device: FakeMicrophone(sound((0, 11.0)), never))
    listener = Listener(recogniser(), SoundSource())
    assert list(listener.heard()) == []
    assert "nothing heard yet; is the microphone on?" in capsys.readouterr().err
    listener.complain()
    assert capsys.readouterr().err == "warning: the sound is silent (peak 0); is the microphone on?\n"


def test_speech_that_is_not_understood_is_told_once_while_it_is_listened_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    never = threading.Event()
    never.set()
    spoken = sound(*[(level, 0.5) for level in (1, 2, 3, 0) * 20])
    monkeypatch.setattr(listen, "open_microphone", lambda device: FakeMicrophone(spoken, never))
    monkeypatch.setattr(check, "UNSURE", 1.1)
    assert len(said(Listener(recogniser(), SoundSource()))) == 60
    assert capsys.readouterr().err.splitlines() == [
        "listening to desk; Ctrl-C ends it",
        "warning: in the last seconds, little was understood (certainty 1.00): noise, or another language; the "
        "recogniser knows 'en' only",
    ]


@pytest.mark.parametrize(
    ("source", "hurries"),
    [
        (SoundSource(), True),
        (SoundSource(ENGLISH), True),
        (SoundSource(ENGLISH, fast=True), False),
        (SoundSource(PIPE), False),
    ],
)
def test_guesses_are_left_out_where_sound_waits_that_comes_at_its_own_pace(
    source: SoundSource, hurries: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(ended: threading.Event, sound: Iterable[Samples], told: Callable[[bool], object]) -> Iterator[Samples]:
        told(True)
        yield np.zeros(0, np.float32)

    monkeypatch.setattr(listen, "until", late)
    monkeypatch.setattr(SoundSource, "opened", lambda self: nullcontext(()))
    listener = Listener(recogniser(), source)
    assert list(listener.heard()) == []
    assert listener.hearing.recogniser.hurried == hurries


@pytest.mark.slow
def test_sound_to_a_server(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(choice, "load_recogniser", lambda name, language: recogniser())
    with FakeServer(tmp_path) as server:
        assert main(["listen", str(recording), "--fast", "--to-server", server.url, "--k", "1"]) == 0
        printed = capsys.readouterr()
        assert printed.out.split() == WORDS
        name = printed.err.strip().split("/")[-1]
        _, text = server.get(f"/api/sessions/{name}/transcript.srt?clock=speaker")
    assert parse(text)[0].start == pytest.approx(1200, abs=150)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.wav"], "none.wav: no such file"),
        (["."], ".: a folder; give one recording"),
        (["/dev/null"], "/dev/null: a pipe or a device, not a file; raw sound comes by standard input: give -"),
        (["x.wav", "--device", "2"], "--device is for the microphone"),
        (["--fast"], "--fast is for a FILE; a microphone is as fast as its speaker"),
        (
            ["x.wav", "--rate", "16000"],
            "--rate is for raw sound on standard input (-); a file says itself what it holds",
        ),
        (["--channels", "2"], "--channels is for raw sound on standard input (-); the system tells what a microphone"),
        (["x.wav", "--key-file", "keys"], "--key-file is for a server's sessions: give --to-server too"),
        (["--recogniser", "siri"], "no recogniser 'siri'"),
        (["--recogniser", "vosk"], "vosk needs a model of yours"),
        (["none.wav", "--to-server", "http://127.0.0.1:9"], "none.wav: no such file"),
        (["--to-server", "localhost"], "expected http://HOST:PORT"),
        (["--to-server", "http://a", "--format", "srt"], "the server translates, so --format is not for this command"),
        (["x.wav", "--model", "de-en"], "moonshine knows English, but the speech is to be 'de'"),
        (["-", "--rate", "100"], "4000"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["listen", *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.slow
def test_english_speech_becomes_german_captions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first sentence of the recording that the README plays: thank you for inviting me to speak to this house."""
    beginning = np.concatenate(list(file_sound(ENGLISH)))[: 13 * RATE // 2]
    trace = tmp_path / "trace.jsonl"
    recording = write_wav(tmp_path / "talk.wav", beginning, RATE)
    assert main(["listen", str(recording), "--fast", "--trace", str(trace)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert re.search(r"\b(danke|Dank)\b.*\bEinladung\b", printed.out, re.DOTALL)
    parsed = parse_trace(trace.read_text(encoding="utf-8").splitlines())
    assert parsed.writes()[-1].read_seconds == pytest.approx(6.0, abs=0.6)
