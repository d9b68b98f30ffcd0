"""How many speakers a server listens to: python -m benchmarks.speech_streams [--most 8] [--seconds 30]

Starts `turia serve` with the English recogniser, and speaks to it with more and more clients that send sound in real
time, as the page does: a tenth of a second at a time, and the recognised words back as words to translate. The sound is
a reading of Dickens from the package moonshine-voice, over and over, from another place in each client. It ends when
the 95th percentile of the seconds from the end of a spoken word until the client is told the final word is above
`--limit`, or when the server reads sound more slowly than it is spoken.

Each number of speakers is held for `--seconds`, after `--settle` seconds that do not count. Printed are median and 95th
percentile at the clients, beside what the server's own metrics say (turia_heard_seconds and
turia_sound_to_caption_seconds, between the limits of their buckets), and the load of the cores.

The clients take little, but the machine should have nothing else to do. Needs the speech extra.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.server_load import serving
from turia.protocol.sound import HEADER, SOUND, SOUND_RATE
from turia.speech.moonshine import packaged_model
from turia.speech.recogniser import Samples
from turia.speech.sound import file_sound

BLOCK = SOUND_RATE // 10
OFFSET = 7.3
"""Seconds of the recording between one client and the next."""
HEARD, CAPTIONED = "turia_heard_seconds", "turia_sound_to_caption_seconds"


@dataclass
class Client:
    """Somebody who speaks without end."""

    url: str
    sound: bytes
    lags: list[tuple[float, float]] = field(default_factory=list)
    """When a word was told, and how long after its end."""
    behind: float = 0.0
    """Seconds of sound that were sent and are not taken."""
    _inputs: int = 0
    _began: float = 0.0
    _taken: int = 0
    """Samples that the server has taken."""
    _window: int = SOUND_RATE
    """Samples that may be sent ahead of that."""

    async def run(self) -> None:
        begun = await asyncio.to_thread(_post, f"{self.url}/api/sessions", {"model": "en-de", "pause": 0})
        address = self.url.replace("http", "ws", 1) + "/socket"
        async with connect(address, compression=None, max_size=None) as socket:
            await _say(socket, type="hello", protocol=1, ticket=begun["ticket"])
            await _say(socket, type="listen", **{"from": 0}, language="en")
            speaking = asyncio.create_task(self._speak(socket))
            try:
                async for text in socket:
                    await self._take(socket, json.loads(text))
            finally:
                speaking.cancel()

    async def _speak(self, socket: ClientConnection) -> None:
        self._began, sent = time.monotonic(), 0
        while True:
            # As a microphone does: a block is there when it is over.
            await asyncio.sleep(max(0.0, self._began + (sent + BLOCK) / SOUND_RATE - time.monotonic()))
            while sent + BLOCK > self._taken + self._window:
                await asyncio.sleep(0.05)
            first = 2 * sent % len(self.sound)
            pcm = (self.sound[first:] + self.sound)[: 2 * BLOCK]
            await socket.send(HEADER.pack(SOUND, sent) + pcm)
            sent += BLOCK

    async def _take(self, socket: ClientConnection, message: dict[str, object]) -> None:
        if message["type"] in ("error", "sound"):
            raise RuntimeError(f"the server says {message}")
        if isinstance(window := message.get("window"), int):
            self._window = window
        if message["type"] != "heard":
            return
        now = time.monotonic()
        words, times = message["words"], message["times"]
        taken = message["taken"]
        assert isinstance(words, list)
        assert isinstance(times, list)
        assert isinstance(taken, int)
        self._taken = taken
        self.behind = now - self._began - taken / SOUND_RATE
        self.lags += [(now, now - self._began - end / 1000) for end in times]
        if words:
            await _say(socket, type="words", seq=self._inputs + 1, words=words, times=times)
            self._inputs += len(words)
        if (partial := message.get("partial")) is not None:
            await _say(socket, type="partial", after=self._inputs, words=partial)
        if message["pause"]:
            self._inputs += 1
            await _say(socket, type="pause", seq=self._inputs)


async def _say(socket: ClientConnection, **message: object) -> None:
    await socket.send(json.dumps(message))


def _post(url: str, body: Mapping[str, object]) -> dict[str, str]:
    asked = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        found: dict[str, str] = json.loads(answer.read())
    return found


def histograms(url: str) -> dict[str, dict[float, float]]:
    """How many were at most so many seconds, as the server counts them."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    found: dict[str, dict[float, float]] = {HEARD: {}, CAPTIONED: {}}
    for name, limits in found.items():
        for limit, count in re.findall(rf'^{name}_bucket\{{le="([^"]+)"\}} (\S+)$', text, re.MULTILINE):
            limits[float(limit)] = float(count)
    return found


def percentile(before: Mapping[float, float], after: Mapping[float, float], share: float) -> str:
    """Between which limits the percentile lies of what came in between."""
    counts = {limit: after[limit] - before[limit] for limit in sorted(after)}
    wanted, lower = share * max(counts.values()), 0.0
    for limit, count in counts.items():
        if count >= wanted:
            return f"{lower:g}-{limit:g} s" if max(counts.values()) else "-"
        lower = limit
    return "-"


def pcm(samples: Samples) -> bytes:
    return (np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()


async def measure(url: str, sound: bytes, options: argparse.Namespace) -> int:
    """The greatest number of speakers that was held."""
    clients: list[Client] = []
    running: list[asyncio.Task[None]] = []
    held = 0
    try:
        for number in range(1, options.most + 1):
            place = 2 * int(OFFSET * number * SOUND_RATE) % len(sound)
            clients.append(Client(url, sound[place:] + sound[:place]))
            running.append(asyncio.create_task(clients[-1].run()))
            await _wait(running, options.settle)
            since, work = time.monotonic(), sum(os.times()[:4])
            before = await asyncio.to_thread(histograms, url)
            idle = _idle()
            await _wait(running, options.seconds)
            after = await asyncio.to_thread(histograms, url)
            seconds = time.monotonic() - since
            busy = os.cpu_count() or 1
            busy_cores = busy - (_idle() - idle) / seconds
            lags = [lag for client in clients for when, lag in client.lags if when >= since]
            median, most = (float(np.percentile(lags, share)) if lags else float("inf") for share in (50, 95))
            behind = max(client.behind for client in clients)
            print(
                f"{number} speakers: {len(lags)} words, heard after {median:.2f} s (median), {most:.2f} s (p95); "
                f"the server's p95: heard {percentile(before[HEARD], after[HEARD], 0.95)}, "
                f"captioned {percentile(before[CAPTIONED], after[CAPTIONED], 0.95)}; "
                f"{behind:.1f} s of sound wait; {busy_cores:.2f} of {busy} cores busy, "
                f"{(sum(os.times()[:4]) - work) / seconds:.2f} by the speakers",
                flush=True,
            )
            if max(most, behind) > options.limit:
                break
            held = number
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return held


async def _wait(running: Sequence[asyncio.Task[None]], seconds: float) -> None:
    """So long; a client that fails ends it."""
    done, _ = await asyncio.wait(running, timeout=seconds)
    for task in done:
        task.result()
        raise RuntimeError("the server has closed a connection")


def _idle() -> float:
    """Seconds that the cores have had nothing to do."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = file.readline().split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description="How many speakers a server listens to.")
    parser.add_argument("--most", type=int, default=8, help="speakers to try, at most")
    parser.add_argument("--seconds", type=float, default=30.0, help="that each number of speakers is held")
    parser.add_argument("--settle", type=float, default=8.0, help="seconds before that, which do not count")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds from the end of a word to the word, p95")
    options = parser.parse_args()
    recording = packaged_model().parent / "two_cities.wav"
    samples = np.concatenate(list(file_sound(recording)))
    most = str(options.most)
    with serving("--model", "en-de", "--streams", most, "--listeners", most, "--log-level", "warning") as (url, _):
        print(f"{platform.machine()}, {os.cpu_count()} cores, {date.today()}", flush=True)
        held = asyncio.run(measure(url, pcm(samples), options))
    print(f"{held} speakers are held with a p95 of at most {options.limit:g} s")


if __name__ == "__main__":
    main()
