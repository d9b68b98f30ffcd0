"""What a server must survive, at full size: python -m benchmarks.server_faults [SCENARIO ...]

Connections cut at random bytes, `kill -9` in mid-stream, many viewers, a reader of one byte a second, fuzzed messages,
idle sockets, the attacks of benchmarks/server_attacks.py and benchmarks/server_surfaces.py, stores that break and
servers that stop (benchmarks/server_damage.py), and what comes with years (benchmarks/server_long.py). Every scenario
checks that nothing is lost or doubled and that the server logs no fault. The models are fakes: it is the server that is
tried. tests/server/test_faults.py runs the faults at a small size; the rules that hold attacks off are in
test_guard.py, test_downloads.py and test_hostile.py.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import logging
import math
import os
import random
import re
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from benchmarks.server_attacks import ATTACKS
from benchmarks.server_damage import DAMAGE
from benchmarks.server_long import LONG
from benchmarks.server_surfaces import SURFACES
from tests.engine.fakes import WORDS
from tests.protocol.test_client_messages import near_messages
from tests.server.servers import FakeServer
from turia.protocol.client import Follower, Speaker

Events = list[dict[str, Any]]
MANY = {"streams": 200, "streams_per_key": 200, "sockets": 5000}


def speech(length: int, seed: int) -> list[str]:
    chosen = random.Random(seed)
    return [chosen.choice(WORDS) + ("." if chosen.random() < 0.15 else "") for _ in range(length)]


def check(events: Events, words: Sequence[str]) -> None:
    """All words came in, in order; the echo wrote all of them, in order; counts have no hole."""
    said = [event for event in events if event["type"] == "source"]
    wrote = [event for event in events if event["type"] == "write"]
    assert [event["word"] for event in said] == list(words)
    assert [event["index"] for event in said] == list(range(len(words)))
    assert [event["word"] for event in wrote] == [word.rstrip(".") for word in words]
    assert [event["index"] for event in wrote] == list(range(len(words)))
    assert events[-1].items() >= {"source_words": len(words), "target_words": len(words)}.items()


async def collect(follower: Follower) -> Events:
    return [event async for event in follower.events()]


# --- connections cut at random bytes ----------------------------------------------------------------------------------


class CuttingProxy:
    """Passes bytes on to a server, and cuts connections after a random number of them, `cuts` times."""

    def __init__(self, port: int, cuts: int, seed: int) -> None:
        self._port, self._chance = port, random.Random(seed)
        self._open: set[asyncio.StreamWriter] = set()
        self.left = cuts

    async def start(self) -> str:
        listening = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        return f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, far_writer}
        # In the handshake, in the first messages, or long after.
        left = [self._chance.randrange(1, self._chance.choice([300, 3000, 60_000]))]
        pipes = [self._pipe(reader, far_writer, left), self._pipe(far_reader, writer, left)]
        tasks = [asyncio.create_task(pipe) for pipe in pipes]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for end in (writer, far_writer):
            end.transport.abort()
            self._open.discard(end)

    async def stop(self) -> None:
        while self._open:
            for end in self._open:
                end.transport.abort()
            await asyncio.sleep(0.01)

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: list[int]) -> None:
        with suppress(OSError):
            while data := await reader.read(4096):
                if self.left > 0 and len(data) >= left[0]:
                    self.left -= 1
                    writer.write(data[: left[0]])
                    await writer.drain()
                    return
                left[0] -= len(data)
                writer.write(data)
                await writer.drain()


async def _speak_through(proxy: CuttingProxy, url: str, direct: str, seed: int) -> None:
    """Speaks through the proxy until it has made its cuts, then to the end."""
    said: list[str] = []
    async with Speaker(direct, k=3) as speaker, Follower(direct, speaker.session) as follower:
        # The session is begun directly, so that there is one; everything else goes through the proxy.
        speaker.url = follower.url = url
        collecting = asyncio.create_task(collect(follower))
        chance = random.Random(seed)
        while proxy.left > 0:
            word = chance.choice(WORDS) + ("." if chance.random() < 0.15 else "")
            said.append(word)
            await speaker.say(word)
            await asyncio.sleep(0.02)
        await speaker.end()
        mine = await collect(speaker)
        check(mine, said)
        assert await collecting == mine


def cuts(server: FakeServer, count: int) -> str:
    async def run() -> None:
        proxy = CuttingProxy(server.port, count, seed=1)
        url = await proxy.start()
        await asyncio.gather(*(_speak_through(proxy, url, server.url, seed) for seed in range(8)))
        await proxy.stop()

    asyncio.run(run())
    return f"{count} connections cut at random bytes"


# --- kill -9 ----------------------------------------------------------------------------------------------------------


def kills(server: FakeServer, count: int) -> str:
    words = speech(20 * (count + 1), seed=7)

    async def run() -> None:
        async with Speaker(server.url, k=2) as speaker, Follower(server.url, speaker.session) as follower:
            collecting = asyncio.create_task(collect(follower))
            for index, word in enumerate(words, start=1):
                await speaker.say(word)
                await asyncio.sleep(0.005)
                if index % 20 == 0 and index < len(words):
                    while not speaker.connected:
                        await asyncio.sleep(0.02)
                    await asyncio.to_thread(server.kill)
                    await asyncio.to_thread(server.start)
            await speaker.end()
            mine = await collect(speaker)
            check(mine, words)
            assert await collecting == mine
            assert speaker.connections >= count

    asyncio.run(run())
    return f"{count} times kill -9 in mid-stream"


# --- viewers ----------------------------------------------------------------------------------------------------------


def viewers(server: FakeServer, count: int) -> str:
    words = speech(60, seed=3)

    async def run() -> float:
        async with Speaker(server.url, k=2) as speaker:
            followers = [Follower(server.url, speaker.session) for _ in range(count)]
            for follower in followers:
                await follower.__aenter__()
            collecting = [asyncio.create_task(collect(follower)) for follower in followers]
            while not all(follower.connected for follower in followers):
                await asyncio.sleep(0.05)
            began = time.monotonic()
            for word in words:
                await speaker.say(word)
                await asyncio.sleep(0.05)
            await speaker.end()
            mine = await collect(speaker)
            took = time.monotonic() - began
            check(mine, words)
            assert all(theirs == mine for theirs in await asyncio.gather(*collecting))
            for follower in followers:
                await follower.__aexit__(None, None, None)
            return took

    return f"{count} viewers saw all of it; the speaker's 60 words took {asyncio.run(run()):.1f} s"


# --- a reader of one byte a second ------------------------------------------------------------------------------------


@asynccontextmanager
async def _reading_slowly(server: FakeServer, session: str) -> AsyncIterator[None]:
    """Somebody follows the session, and takes a byte a second."""
    raw = await asyncio.to_thread(_open_slowly, server, session)
    reading = asyncio.create_task(_read_slowly(raw))
    yield
    reading.cancel()
    raw.close()


def _open_slowly(server: FakeServer, session: str) -> socket.socket:
    _, ticket = server.post(f"/api/sessions/{session}/tickets")
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    raw.connect(("127.0.0.1", server.port))
    nonce = base64.b64encode(os.urandom(16)).decode()
    lines = ["GET /socket HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {nonce}", "Sec-WebSocket-Version: 13", "", ""]
    raw.sendall("\r\n".join(lines).encode())
    while not raw.recv(4096).endswith(b"\r\n\r\n"):
        pass
    hello = json.dumps({"type": "hello", "protocol": 1, "ticket": ticket["ticket"]}).encode()
    # A masked text frame whose mask is zero.
    raw.sendall(bytes([0x81, 0x80 | 126]) + len(hello).to_bytes(2, "big") + bytes(4) + hello)
    return raw


async def _read_slowly(raw: socket.socket) -> None:
    raw.setblocking(False)
    while True:
        with suppress(BlockingIOError):
            raw.recv(1)
        await asyncio.sleep(1)


def slow_reader(server: FakeServer, words: int) -> str:
    """Needs a server with a short `stall`: full buffers are noticed by time alone."""

    async def run() -> None:
        said = speech(words, seed=5)
        async with Speaker(server.url, k=2) as speaker, _reading_slowly(server, speaker.session):
            await speaker.say(*said)
            await speaker.end()
            check(await collect(speaker), said)
            while not await asyncio.to_thread(_was_cut, server):
                await asyncio.sleep(0.1)
            # Its connection is gone, though it has not taken what was sent.
            while server.open_files() > files + 1:
                await asyncio.sleep(0.1)

    files = server.open_files()
    asyncio.run(run())
    return f"a reader of 1 byte/s was cut; all {words} words of the speaker are there"


def stuck_reader(server: FakeServer, words: int) -> str:
    """Needs a server whose `stall` never comes: all that the speaker gets, he gets beside the reader."""

    async def run() -> None:
        said = speech(words, seed=5)
        async with Speaker(server.url, k=2) as speaker, _reading_slowly(server, speaker.session):
            while "turia_viewers 1.0" not in (await asyncio.to_thread(server.get, "/metrics"))[1]:
                await asyncio.sleep(0.05)
            await speaker.say(*said)
            await speaker.end()
            check(await collect(speaker), said)
            assert "turia_viewers 1.0" in (await asyncio.to_thread(server.get, "/metrics"))[1]
            assert not await asyncio.to_thread(_was_cut, server)

    asyncio.run(run())
    return f"{words} words were acknowledged and translated while a reader of 1 byte/s was stuck, and there"


def _was_cut(server: FakeServer) -> bool:
    return re.search(r'turia_refusals_total\{code="slow"\} [1-9]', server.get("/metrics")[1]) is not None


# --- fuzz -------------------------------------------------------------------------------------------------------------

VALID: tuple[dict[str, Any], ...] = (
    {"type": "words", "words": ["ka", "le."], "times": [1, 2]},
    {"type": "settings", "k": 3, "model": "en-de"},
    {"type": "pause"},
    {"type": "ping"},
)
INPUTS = {"words": 2, "settings": 1, "pause": 1}
"""How many inputs a valid message is."""
SECOND_HELLO = {"type": "hello", "protocol": 1, "ticket": "x", "have": 0}
MESSAGES_A_BATCH = 10
LETTERS = '{}[]",:0-9.eE\\u\u202e\x00 '


def _spoilt(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """The text with some letters left out and others put in."""
    for at, length, letters in edits:
        at %= len(text) + 1
        text = text[:at] + letters + text[at + length :]
    return text


def _batches() -> st.SearchStrategy[list[tuple[Any, Sequence[tuple[int, int, str]]]]]:
    """Messages with what is to be spoilt in each: valid ones, nearly valid ones, and anything at all."""
    edit = st.tuples(st.integers(0, 100), st.integers(0, 3), st.text(LETTERS, max_size=3))
    valid = st.tuples(st.sampled_from(VALID), st.just(()))
    other = st.tuples(
        st.sampled_from(VALID) | st.just(SECOND_HELLO) | near_messages | st.text(max_size=30) | st.binary(max_size=30),
        st.just(()) | st.lists(edit, max_size=3),
    )
    # After a refusal there is another connection: with more of them it would be a test of handshakes.
    return st.lists(valid | valid | valid | other, min_size=MESSAGES_A_BATCH, max_size=MESSAGES_A_BATCH)


class _Fuzzer:
    """Speaks in one session until that has ended; opens another connection whenever the server has closed the last."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._begun: dict[str, Any] | None = None
        self._connection = ExitStack()
        self._socket = self._connect()
        self.sent = self.closed = 0

    def _connect(self) -> ClientConnection:
        if self._begun is None:
            _, self._begun = self._server.post("/api/sessions")
        path = f"/api/sessions/{self._begun['session']}/tickets"
        _, granted = self._server.post(path, Authorization=f"Bearer {self._begun['secret']}")
        self._connection.close()
        opened = self._connection.enter_context(connect(f"ws://127.0.0.1:{self._server.port}/socket", compression=None))
        opened.send(json.dumps({"type": "hello", "protocol": 1, "ticket": granted["ticket"], "have": 2**50}))
        self._next = json.loads(opened.recv(timeout=60))["last_input"] + 1
        return opened

    def send(self, message: Any, edits: Sequence[tuple[int, int, str]]) -> None:
        inputs = 0
        if isinstance(message, dict):
            inputs = INPUTS.get(str(message["type"]), 0) if message in VALID else 0
            # With the number that the server expects it gets further than the parser.
            message = json.dumps({"seq": self._next} | message)
        if isinstance(message, str):
            message = _spoilt(message, edits).encode("utf-8", "replace")
        self.sent += 1
        try:
            self._socket.send(message, text=True)
            if inputs and not edits:
                self._next += inputs
                return
            # Answered only when all before it has been dealt with.
            self._socket.send('{"type":"ping"}')
            while '"pong"' not in str(self._socket.recv(timeout=60)):
                pass
        except ConnectionClosed as closing:
            self.closed += 1
            if closing.rcvd is not None and closing.rcvd.code == 1000:
                # Nothing was wrong but that the session has ended.
                self._begun = None
            self._socket = self._connect()


def fuzz(server: FakeServer, count: int) -> str:
    """Messages that hypothesis makes; somebody else speaks meanwhile and is not harmed."""
    fuzzer = _Fuzzer(server)
    # A server that closes while a client still writes is no fault, but the client's library says so at length.
    logging.getLogger("websockets.client").setLevel(logging.CRITICAL)

    @settings(
        max_examples=math.ceil(count / MESSAGES_A_BATCH),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_batches())
    def send_all(batch: list[tuple[Any, Sequence[tuple[int, int, str]]]]) -> None:
        for message, edits in batch:
            fuzzer.send(message, edits)

    async def run() -> None:
        said: list[str] = []
        async with Speaker(server.url, k=2) as bystander:
            fuzzing = asyncio.create_task(asyncio.to_thread(send_all))
            while not fuzzing.done():
                said += speech(1, seed=len(said))
                await bystander.say(said[-1])
                await asyncio.sleep(0.4)
            await fuzzing
            await bystander.end()
            check(await collect(bystander), said)

    asyncio.run(run())
    assert fuzzer.sent >= count
    return f"{fuzzer.sent} fuzzed messages, {fuzzer.closed} of them refused; a bystander's captions were right"


# --- idle sockets -----------------------------------------------------------------------------------------------------


def idle(server: FakeServer, count: int) -> str:
    async def run() -> float:
        async with Speaker(server.url) as speaker:
            await speaker.say("ka")
            before = server.memory()
            followers = [Follower(server.url, speaker.session) for _ in range(count)]
            for follower in followers:
                await follower.__aenter__()
            while not all(follower.connected for follower in followers):
                await asyncio.sleep(0.05)
            grown = (server.memory() - before) / count / 1024
            await speaker.end()
            await collect(speaker)
            for follower in followers:
                await follower.__aexit__(None, None, None)
            return grown

    kib = asyncio.run(run())
    assert kib <= 200, f"{kib:.0f} KiB an idle socket"
    return f"{count} idle sockets, {kib:.0f} KiB each"


# --- all of it --------------------------------------------------------------------------------------------------------

Scenario = Callable[[FakeServer, int], str]
SCENARIOS: dict[str, tuple[Scenario, int, Mapping[str, Any]]] = {
    "cuts": (cuts, 1000, {}),
    "kills": (kills, 100, {}),
    "viewers": (viewers, 500, {}),
    "slow-reader": (slow_reader, 4000, {"stall": 1.0, "words_per_second": 1000, "burst": 5000}),
    "stuck-reader": (stuck_reader, 4000, {"stall": 3600.0, "words_per_second": 1000, "burst": 5000}),
    "fuzz": (fuzz, 200_000, {"grace": 0.1, "words_per_second": 1e6, "burst": 1e6}),
    "idle": (idle, 1000, {}),
    **ATTACKS,
    **DAMAGE,
    **LONG,
    **SURFACES,
}
"""What is done, how much of it, and limits and options of the server that are other than usual."""
OPTIONS = ("files", "rooms", "recogniser")


def run(name: str, size: int | None = None) -> str:
    """One scenario on a server of its own; what it found."""
    scenario, full, given = SCENARIOS[name]
    options = {key: given[key] for key in OPTIONS if key in given}
    limits = MANY | {key: value for key, value in given.items() if key not in OPTIONS}
    with tempfile.TemporaryDirectory() as folder, FakeServer(Path(folder), limits=limits, **options) as server:
        began = time.monotonic()
        found = scenario(server, full if size is None else size)
        assert server.status("/readyz") == 200
        assert server.faults() == [], server.log.read_text()[-3000:]
        return f"{found} ({time.monotonic() - began:.0f} s)"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="*", help=f"of {', '.join(SCENARIOS)}; all of them without any")
    wanted = parser.parse_args().scenario
    if unknown := set(wanted) - set(SCENARIOS):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    for chosen in wanted or SCENARIOS:
        print(f"{chosen}: {run(chosen)}", flush=True)
