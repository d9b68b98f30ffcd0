"""The examples run: Python's speaker and follower, and the bare protocol in JavaScript where there is a Node for it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.servers import FakeServer
from turia.errors import InputError
from turia.protocol.calls import BusyError
from turia.protocol.client import Follower, Speaker

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_speak_and_watch(server: FakeServer) -> None:
    command = [sys.executable, str(EXAMPLES / "speak.py"), server.url]
    spoken = subprocess.run(command, input="ka le mi.\nno pu.\n", capture_output=True, text=True, check=True)
    assert spoken.stdout.split() == ["ka", "le", "mi", "no", "pu"]
    name = spoken.stderr.strip().split("/")[-1]
    command = [sys.executable, str(EXAMPLES / "watch.py"), name, server.url]
    watched = subprocess.run(command, capture_output=True, text=True, check=True)
    assert watched.stdout.split() == ["ka", "le", "mi", "no", "pu"]


def test_a_speaker_whose_input_cannot_be_read_does_not_wait_for_ever(server: FakeServer) -> None:
    command = [sys.executable, str(EXAMPLES / "speak.py"), server.url]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    spoken = subprocess.run(command, input=b"ka \xff\n", env=strict, capture_output=True, check=False, timeout=60)
    assert spoken.returncode == 1
    assert b"UnicodeDecodeError" in spoken.stderr


def test_speak_in_javascript(server: FakeServer, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node, which is not here")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    major = int(version.strip("v \n").split(".")[0])
    if major < 20:
        pytest.skip(f"needs node 22, or 20 with its experimental WebSocket, not {version.strip()}")
    script = tmp_path / "speak.mjs"
    script.write_text((EXAMPLES / "speak.mjs").read_text(encoding="utf-8").replace("http://127.0.0.1:8000", server.url))
    options = ["--experimental-websocket"] if major < 22 else []
    spoken = subprocess.run([node, *options, str(script), "ka le mi."], capture_output=True, text=True, check=True)
    assert spoken.stdout.split() == ["ka", "le", "mi"]
    silent = subprocess.run([node, *options, str(script)], capture_output=True, text=True, check=False)
    assert (silent.returncode, silent.stdout) == (2, "")
    assert "What shall be said?" in silent.stderr


@pytest.mark.slow
def test_a_client_tells_what_is_wrong(server: FakeServer, tmp_path: Path) -> None:
    async def speak(url: str, **chosen: str) -> None:
        async with Speaker(url, **chosen):  # type: ignore[arg-type]
            pass

    async def follow() -> None:
        async with Follower(server.url, "nobody") as follower:
            async for _ in follower.events():
                pass

    with pytest.raises(InputError, match="de-en, en-de"):
        asyncio.run(speak(server.url, model="xx-yy"))
    with pytest.raises(InputError, match="no such session"):
        asyncio.run(follow())
    with FakeServer(tmp_path, limits={"streams": 1}) as small:
        asyncio.run(speak(small.url))
        with pytest.raises(BusyError, match="the only stream is in use"):
            asyncio.run(speak(small.url))


def test_pauses_and_changes(server: FakeServer) -> None:
    async def speak() -> list[tuple[str, object]]:
        async with Speaker(server.url, k=9) as speaker:
            await speaker.say("ka le")
            await speaker.pause()
            await speaker.change(k=1)
            await speaker.say("mi")
            await speaker.change(model="en-de")
            await speaker.end()
            return [(event["type"], event.get("word", event.get("k"))) async for event in speaker.events()]

    assert asyncio.run(speak()) == [
        ("settings", 9),
        ("source", "ka"),
        ("source", "le"),
        ("write", "ka"),
        ("write", "le"),
        ("sentence", None),
        ("settings", 1),
        ("source", "mi"),
        ("note", None),  # tells from which sentence they hold
        ("write", "mi"),
        ("sentence", None),
        ("settings", 1),
        ("end", None),
    ]
