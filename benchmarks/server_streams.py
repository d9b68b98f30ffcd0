"""Many streams through a real server, by clients with bad networks: python -m benchmarks.server_streams

    --streams N    speakers at once (30)
    --words N      of each (60)
    --fast N       speakers of 50 words a second, beside one who speaks like a person (3; 0 leaves it out)
    --seconds S    for which they speak (40)
    --beam N       of the search (the model's own)

Each speaker loses connections, sends messages twice, sends old ones again, and sends later ones before earlier ones.
What the server wrote for each must be what `turia translate` writes for its words alone, word for word. Exit code 1 if
it is not. The second part shows how long the words of a person take alone and beside fast speakers, and that nobody new
is let in while those make all the work that the server holds. tests/server/test_streams.py runs the first part small.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from statistics import quantiles
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.server.servers import ENVIRONMENT, ROOT, free_port
from turia.cli import main as turia
from turia.protocol.calls import BusyError
from turia.protocol.client import Speaker

MODEL = "de-en"
SPEECH = (ROOT / "src/turia/server/static/sample.de.txt").read_text(encoding="utf-8").split()
FAULTS = ("none", "none", "twice", "old", "early", "cut")
Event = dict[str, Any]


def speech(number: int, words: int) -> list[str]:
    """The sample speech from another place on for each speaker."""
    return [SPEECH[(17 * number + index) % len(SPEECH)] for index in range(words)]


@contextmanager
def serving(folder: Path, streams: int, beam: int | None = None) -> Iterator[str]:
    """`turia serve` as a process; its address."""
    port = free_port()
    command = [sys.executable, "-m", "turia", "serve", "--port", str(port), "--data", str(folder), "--model", MODEL]
    command += ["--streams", str(streams), "--pause", "0", *_search(beam)]
    log = folder / "server.log"
    with (
        log.open("wb") as told,
        subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdout=told, stderr=told) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            while not _ready(url):
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()
    assert "Traceback" not in log.read_text()


def _search(beam: int | None) -> list[str]:
    return [] if beam is None else ["--beam", str(beam)]


def _ready(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/readyz", timeout=10).close()
    except (urllib.error.URLError, OSError):
        return False
    return True


def post(url: str, body: dict[str, Any], secret: str | None = None) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"} | ({} if secret is None else {"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=60) as answer:
        return dict(json.load(answer))


def alone(words: Sequence[str], k: int, beam: int | None, folder: Path) -> list[str]:
    """What `turia translate` writes for these words."""
    text, printed = folder / "words.txt", io.StringIO()
    text.write_text(" ".join(words), encoding="utf-8")
    with redirect_stdout(printed):
        assert turia(["translate", "--model", MODEL, "--k", str(k), "--pause", "0", *_search(beam), str(text)]) == 0
    return printed.getvalue().split()


class BadClient:
    """Says its words over a network that loses, doubles and mixes up messages; keeps the events in order."""

    def __init__(self, url: str, words: Sequence[str], k: int, seed: int) -> None:
        self._url, self._words, self._k = url, words, k
        self._chance = random.Random(seed)
        self.events: list[Event] = []
        self.faults: Counter[str] = Counter()

    async def speak(self) -> list[str]:
        """Until the server has told all; the words that it wrote."""
        chosen = {"model": MODEL, "k": self._k, "pause": 0}
        begun = await asyncio.to_thread(post, f"{self._url}/api/sessions", chosen)
        tickets = f"{self._url}/api/sessions/{begun['session']}/tickets"
        while not self.events or self.events[-1]["type"] != "end":
            granted = await asyncio.to_thread(post, tickets, {}, begun["secret"])
            self.faults["connections"] += 1
            address = f"{self._url.replace('http', 'ws', 1)}/socket"
            async with connect(address, compression=None) as socket:
                hello = {"type": "hello", "protocol": 1, "ticket": granted["ticket"], "have": len(self.events)}
                await socket.send(json.dumps(hello))
                self._last: asyncio.Future[int] = asyncio.get_running_loop().create_future()
                reading = asyncio.create_task(self._read(socket))
                with suppress(ConnectionClosed):
                    await self._say(socket, await self._welcomed(reading))
                await reading
        said = [event["word"] for event in self.events if event["type"] == "source"]
        assert said == list(self._words), "the words came in, each once and in order"
        return [event["word"] for event in self.events if event["type"] == "write"]

    async def _welcomed(self, reading: asyncio.Task[None]) -> int:
        """The number of the next input, once the server has said which it has."""
        either: list[asyncio.Future[Any]] = [self._last, reading]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return self._last.result() + 1 if self._last.done() else 1

    async def _say(self, socket: ClientConnection, at: int) -> None:
        while at <= len(self._words):
            size, fault = self._chance.randint(1, 6), self._chance.choice(FAULTS)
            chunk, later = self._words[at - 1 : at - 1 + size], self._words[at - 1 + size : at + 1 + size]
            self.faults[fault] += 1
            if fault == "cut":
                # Perhaps the message arrives, perhaps not.
                await self._send(socket, at, chunk)
                socket.transport.abort()
                return
            if fault == "early" and later:
                # A gap: the server ends the connection, and tells from where on to send.
                await self._send(socket, at + size, later)
            if fault == "old" and at > 1:
                old = self._chance.randint(1, at - 1)
                await self._send(socket, old, self._words[old - 1 : at - 1 + size])
            await self._send(socket, at, chunk)
            if fault == "twice":
                await self._send(socket, at, chunk)
            at += len(chunk)
            await asyncio.sleep(self._chance.random() * 0.05)
        await socket.send(json.dumps({"type": "end", "seq": at}))

    async def _send(self, socket: ClientConnection, seq: int, words: Sequence[str]) -> None:
        await socket.send(json.dumps({"type": "words", "seq": seq, "words": list(words)}))

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for line in socket:
                message = json.loads(line)
                if message["type"] == "hello":
                    self._last.set_result(message["last_input"])
                elif message["type"] == "events":
                    assert message["seq"] == len(self.events) + 1, "no event is missing, none comes twice"
                    self.events += message["events"]
                elif message["type"] == "error":
                    assert message["retry"], message
                    self.faults[f"told {message['code']}"] += 1
        except ConnectionClosed:
            pass


def compare(streams: int, words: int, beam: int | None = None) -> str:
    """So many bad clients at once; what was tried. Raises where something differs."""
    texts, ks = [speech(number, words) for number in range(streams)], [1 + number % 8 for number in range(streams)]

    async def all_at_once(url: str) -> tuple[list[list[str]], Counter[str]]:
        clients = [BadClient(url, text, k, seed) for seed, (text, k) in enumerate(zip(texts, ks, strict=True))]
        written = await asyncio.gather(*(client.speak() for client in clients))
        return written, sum((client.faults for client in clients), Counter())

    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), streams + 1, beam) as url:
        written, faults = asyncio.run(all_at_once(url))
        for number, (text, k, found) in enumerate(zip(texts, ks, written, strict=True)):
            expected = alone(text, k, beam, Path(folder))
            assert found == expected, f"stream {number}, k {k}: {found} is not {expected}"
    tried = ", ".join(f"{count} {name}" for name, count in sorted(faults.items()) if name != "none")
    return f"{streams} streams of {words} words equal turia translate of each alone, word for word ({tried})"


# --- fast speakers ----------------------------------------------------------------------------------------------------


async def _speaks(url: str, words_per_second: float, until: float, delays: list[float] | None = None) -> int:
    """Words that were said; with `delays`, each is waited for."""
    said = 0
    async with Speaker(url, k=4) as speaker:
        while time.monotonic() < until:
            sent = time.monotonic()
            await speaker.say(SPEECH[said % len(SPEECH)])
            said += 1
            if delays is not None:
                async for event in speaker.events():
                    if event["type"] == "source" and event["index"] == said - 1:
                        break
                delays.append(time.monotonic() - sent)
            await asyncio.sleep(max(0.0, sent + 1 / words_per_second - time.monotonic()))
        await speaker.end()
    return said


def beside_fast(fast: int, seconds: float, beam: int | None = None) -> str:
    """A person alone, and beside fast speakers; the server holds as many as all of these are by count."""

    async def run(url: str) -> str:
        quiet: list[float] = []
        await _speaks(url, 2.5, time.monotonic() + seconds / 2, quiet)
        until, loud = time.monotonic() + seconds, list[float]()
        speakers = [asyncio.create_task(_speaks(url, 50.0, until)) for _ in range(fast)]
        person = asyncio.create_task(_speaks(url, 2.5, until, loud))
        await asyncio.sleep(0.8 * seconds)
        refused = 0
        for _ in range(3):
            try:
                async with Speaker(url, k=4):
                    pass
            except BusyError:
                refused += 1
        said = await asyncio.gather(*speakers)
        await person
        return (
            f"{fast} fast speakers said {sum(said) / seconds / fast:.1f} words a second each; 95 % of a person's words "
            f"within {quantiles(loud, n=20)[-1]:.2f} s ({quantiles(quiet, n=20)[-1]:.2f} s alone); {refused} of 3 new "
            f"speakers refused"
        )

    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), 4 * fast, beam) as url:
        return asyncio.run(run(url))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=30)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--fast", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--beam", type=int)
    given = parser.parse_args()
    if given.streams:
        print(compare(given.streams, given.words, given.beam), flush=True)
    if given.fast:
        print(beside_fast(given.fast, given.seconds, given.beam), flush=True)
