"""`turia send` speaks in a session of a real server process."""

from __future__ import annotations

import asyncio
import io
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.formats.cues import parse
from tests.server.servers import FakeServer, free_port
from turia.cli import main
from turia.commands.send import _write
from turia.errors import FormatError
from turia.protocol.client import Follower, Speaker
from turia.protocol.server_messages import TentativeText

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    folder = tmp_path_factory.mktemp("server")
    keys = folder / "keys"
    keys.write_text("a-key-of-many-letters\n")
    with FakeServer(folder, key_file=str(keys)) as running:
        yield running
        assert running.faults() == []


@pytest.fixture
def command(server: FakeServer) -> list[str]:
    """The command with where the server is and its key."""
    return ["send", "--server", server.url, "--k", "2", "--key-file", str(server.log.parent / "keys")]


def test_what_a_recogniser_prints_is_said_with_its_times(
    server: FakeServer, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = tmp_path / "feed.jsonl"
    feed.write_text(
        '{"partial": "ka"}\n'
        '{\n  "result": [{"word": "ka", "start": 61.0, "end": 61.5}, {"word": "le.", "start": 61.5, "end": 62.25}],\n'
        '  "text": "ka le."\n}\n{"partial": "mo"}\n'
        '{"result": [{"word": "mi.", "start": 63.0, "end": 64.0}], "text": "mi."}\n'
    )
    assert main([*command, "--input-format", "vosk", str(feed)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "ka le\nmi\n"
    page, operator = printed.err.splitlines()
    assert page.startswith(f"{server.url}/watch/")
    name = page.split("/")[-1]
    assert operator == f"Operator: {server.url}/operate/{name}"
    status, text = server.get(f"/api/sessions/{name}/transcript.srt?clock=speaker")
    assert status == 200
    assert [(cue.text, cue.start) for cue in parse(text)] == [("ka le", 62_250), ("mi", 64_000)]
    assert parse(server.get(f"/api/sessions/{name}/transcript.srt")[1])[0].start < 60_000


def test_a_line_that_is_none_ends_the_session_and_what_was_said_is_written(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = tmp_path / "feed.txt"
    feed.write_text("0 1000 ka le mi. no\nbad line\n")
    assert main([*command, "--input-format", "whisper", str(feed)]) == 2
    printed = capsys.readouterr()
    assert printed.out == "ka le mi\nno\n"
    assert f"error: {feed}:2: " in printed.err


def test_a_signal_ends_the_session_and_what_was_said_is_written(command: list[str]) -> None:
    speaking = subprocess.Popen(
        [sys.executable, "-m", "turia", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert speaking.stdin is not None
    assert speaking.stdout is not None
    speaking.stdin.write("ka le mi. no ")
    speaking.stdin.flush()
    # The sentence is there, so the speaker has taken it, and waits for more.
    assert speaking.stdout.readline() == "ka le mi\n"
    speaking.send_signal(signal.SIGINT)
    rest, _ = speaking.communicate()
    assert rest in ("no\n", ""), "the word after it may still have been on its way"
    assert speaking.returncode == 130


def test_what_is_wrong_is_told_in_a_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    assert main(["send", "--server", nobody]) == 1
    assert capsys.readouterr().err.startswith(f"error: {nobody} cannot be reached: ")
    assert main(["send", "--server", "localhost:8000"]) == 2
    assert "expected http://HOST:PORT" in capsys.readouterr().err
    assert main([*command[:-2]]) == 2
    assert "refused with 401" in capsys.readouterr().err
    assert main([*command, "--model", "xx-yy"]) == 2
    refused = capsys.readouterr().err
    assert "de-en, en-de" in refused
    assert "detail" not in refused
    assert main([*command, "--k", "500"]) == 2
    assert capsys.readouterr().err.endswith("refused with 422: k is 500, expected a whole number from 1 to 100\n")
    assert main([*command, "--policy", "whole"]) == 2
    assert capsys.readouterr().err == "error: policy and k are both given; k is short for policy wait-k\n"
    without_k = [*command[:3], *command[5:]]
    assert main([*without_k, "--policy", "alignatt:f=0"]) == 2
    assert capsys.readouterr().err == "error: policy alignatt: f is 0, expected a whole number from 1\n"
    assert main([*without_k, "--policy", "hodl-n"]) == 2
    assert "refused with 422: policy is a string, expected a policy: wait-k, whole, hold-n" in capsys.readouterr().err
    assert main([*without_k, "--target-lag", "3m"]) == 2
    assert "expected words such as 5, or seconds such as 3s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {"k": 4}),  # the model's own
        (["--policy", "hold-n:n=2"], {"k": 4, "policy": "hold-n:n=2"}),
        (["--target-lag", "5"], {"k": 4, "target_lag": "5"}),
        (["--k", "7"], {"k": 7}),
    ],
)
def test_when_words_are_written_is_chosen(
    server: FakeServer,
    command: list[str],
    options: list[str],
    settings: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = tmp_path / "words"
    words.write_text("ka le mi.\n")
    assert main([*command[:3], *command[5:], *options, "--punctuation", str(words)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "ka le mi\n"
    name = printed.err.split("/watch/")[1].split()[0]

    async def first() -> dict[str, Any]:
        async with Follower(server.url, name) as follower:
            return await anext(follower.events())

    found = asyncio.run(first())
    assert {key: found[key] for key in ("k", "policy", "target_lag") if key in found} == settings


def test_a_tail_is_shown_to_who_asks_and_brings_words_out_earlier(server: FakeServer) -> None:
    async def speak() -> tuple[list[dict[str, Any]], TentativeText]:
        shown: asyncio.Queue[TentativeText] = asyncio.Queue()
        key = "a-key-of-many-letters"
        async with Speaker(server.url, k=3, key=key, punctuation=True, on_tentative=shown.put_nowait) as speaker:
            await speaker.say("ka", "le")
            events = speaker.events()
            early = [await anext(events) for _ in range(3)]
            await speaker.partial("mi no pu")
            early += [await anext(events) for _ in range(2)]
            grey = await shown.get()
            await speaker.end()
            return early + [event async for event in events], grey

    events, grey = asyncio.run(speak())
    assert [(event["word"], event["read"]) for event in events if event["type"] == "write"] == [("ka", 2), ("le", 2)]
    assert grey == TentativeText(5, ("mi", "no", "pu"), ("mi",))
    assert [event["word"] for event in events if event["type"] == "source"] == ["ka", "le"]


def test_the_server_closes_a_sentence_when_nobody_speaks(server: FakeServer) -> None:
    async def speak() -> list[dict[str, Any]]:
        key = "a-key-of-many-letters"
        async with Speaker(server.url, k=9, key=key, punctuation=True, pause=0.01) as speaker:
            await speaker.say("ka", "le")
            found = []
            async for event in speaker.events():
                found.append(event)
                if event["type"] == "sentence":
                    break
            return found

    events = asyncio.run(speak())
    assert [event["word"] for event in events if event["type"] == "write"] == ["ka", "le"]
    assert events[-1]["reason"] == "pause"


def test_a_gap_between_times_is_sent_as_a_pause(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = tmp_path / "feed.txt"
    feed.write_text("0 1000 ka le\n9000 9500 mi\n")
    assert main([*command, "--input-format", "whisper", str(feed)]) == 0
    assert capsys.readouterr().out == "ka le\nmi\n"
    assert main([*command, "--input-format", "whisper", "--pause", "0", str(feed)]) == 0
    assert capsys.readouterr().out == "ka le mi\n"


def test_speakers_are_named_to_the_audience(
    server: FakeServer, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = tmp_path / "talk.vtt"
    feed.write_text("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Anna>ka le\n\n00:02.000 --> 00:03.000\n<v Bo>mi\n")
    assert main([*command, "--input-format", "vtt", str(feed)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "Anna: ka le\nBo: mi\n"
    name = printed.err.strip().split("/")[-1]
    assert server.get(f"/api/sessions/{name}/transcript.txt?side=source")[1] == "Anna: ka le\nBo: mi\n"
    assert "<v Bo>mi" in server.get(f"/api/sessions/{name}/transcript.vtt")[1]


@pytest.mark.parametrize("event", [{"type": "write"}, {"type": "write", "word": 3}, {"type": "note"}, {"ms": "x"}])
def test_an_event_that_is_none_is_refused_in_one_line(event: dict[str, Any]) -> None:
    class Odd(Speaker):
        def __init__(self) -> None:
            """It is not connected."""

        async def events(self) -> AsyncIterator[dict[str, Any]]:
            yield {"type": "of a later release"}
            yield event

    with pytest.raises(FormatError, match="the server sent an event"):
        asyncio.run(_write(Odd(), io.StringIO()))
