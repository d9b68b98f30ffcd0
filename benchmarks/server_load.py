"""How many streams a server holds: python -m benchmarks.server_load --model FOLDER [--speech FILE] [--seconds 60]

Starts `turia serve` and speaks to it with more and more streams, each at 2.5 words a second, until the delay beyond the
policy (from the arrival of a word until what it caused is stored and on its way) is over 500 ms for more than 5 % of
the messages. Prints a line for each number of streams, and the greatest number that held.

Then a server as users start it, with the capacity that it has measured for itself: all its streams are taken, others
knock all the time and must be refused, and those inside must keep their pace.

The speakers take time of the same processors; the server needs both cores for itself to show what it can.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from turia.protocol.calls import BusyError
from turia.protocol.client import Speaker
from turia.server.capacity import WORDS_PER_SECOND

MOST_SECONDS = 0.5
SHARE = 0.95
SAMPLE = Path(__file__).parents[1] / "src/turia/server/static/sample.de.txt"


@dataclass(frozen=True)
class Delays:
    """Messages, and those of them that were dealt with in time."""

    all: int
    in_time: int

    @classmethod
    def read(cls, url: str) -> Delays:
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            text = answer.read().decode()
        found = re.search(rf'^turia_delay_seconds_bucket\{{le="{MOST_SECONDS}"\}} (\S+)$', text, re.MULTILINE)
        count = re.search(r"^turia_delay_seconds_count (\S+)$", text, re.MULTILINE)
        assert found is not None
        assert count is not None
        return cls(int(float(count[1])), int(float(found[1])))

    def since(self, before: Delays) -> float:
        """The share in time of what came after `before`."""
        return (self.in_time - before.in_time) / max(1, self.all - before.all)


async def speak(url: str, words: list[str], seconds: float, offset: float) -> int:
    """One stream at its pace, by the clock; how many target words came."""
    async with Speaker(url, k=4, punctuation=True) as speaker:
        await asyncio.sleep(offset)
        began = time.monotonic()
        for index in range(int(seconds * WORDS_PER_SECOND)):
            await asyncio.sleep(max(0.0, began + index / WORDS_PER_SECOND - time.monotonic()))
            await speaker.say(words[index % len(words)])
        await speaker.end()
        return sum([event["type"] == "write" async for event in speaker.events()])


async def held(url: str, words: list[str], streams: int, seconds: float) -> bool:
    before = Delays.read(url)
    # Streams begin at different words, as speakers do, and not all at the same moment.
    starts = [words[7 * n % len(words) :] + words[: 7 * n % len(words)] for n in range(streams)]
    offsets = [n / streams / WORDS_PER_SECOND for n in range(streams)]
    speakers = [speak(url, own, seconds, offset) for own, offset in zip(starts, offsets, strict=True)]
    written = sum(await asyncio.gather(*speakers))
    share = Delays.read(url).since(before)
    print(f"{streams:4d} streams: {share:.1%} within {MOST_SECONDS * 1000:.0f} ms, {written} words written", flush=True)
    return share >= SHARE


async def besieged(url: str, words: list[str], streams: int, seconds: float) -> bool:
    """All streams are taken, and somebody knocks ten times a second."""
    refused = 0

    async def knock() -> None:
        nonlocal refused
        while True:
            await asyncio.sleep(0.1)
            try:
                async with Speaker(url, punctuation=True):
                    raise AssertionError("a stream was taken past the capacity")
            except BusyError:
                refused += 1

    speaking = asyncio.create_task(held(url, words, streams, seconds))
    await asyncio.sleep(2)
    knocking = asyncio.create_task(knock())
    done, _ = await asyncio.wait(
        [speaking, asyncio.create_task(asyncio.sleep(seconds - 3)), knocking], return_when="FIRST_COMPLETED"
    )
    assert knocking not in done, knocking.exception()
    knocking.cancel()
    kept = await speaking
    print(f"{refused} more were refused meanwhile", flush=True)
    return kept


@contextmanager
def serving(*options: str) -> Iterator[tuple[str, str]]:
    """A server's address and what it said before."""
    with tempfile.TemporaryDirectory() as folder:
        data = () if "--store" in options else ("--data", folder)
        command = [sys.executable, "-m", "turia", "serve", "--port", "0", *data, *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            said = ""
            while "http://" not in (line := server.stdout.readline()):
                assert line, "the server ended"
                said += line
            url = line.split()[3]
            while not ready(url):
                time.sleep(0.1)
            yield url, said
            server.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description="How many streams a server holds.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--speech", type=Path, default=SAMPLE)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--most", type=int, default=256)
    options = parser.parse_args()
    words = options.speech.read_text(encoding="utf-8").split()
    with serving("--model", options.model, "--streams", str(options.most)) as (url, _):
        best, streams = 0, 1
        while streams <= options.most and asyncio.run(held(url, words, streams, options.seconds)):
            best, streams = streams, max(streams + 1, round(streams * 1.5))
    print(f"{best} streams held; {platform.machine()}, {date.today()}")
    with serving("--model", options.model) as (url, said):
        print(said.strip(), flush=True)
        found = re.search(r"(\d+) streams", said)
        assert found is not None
        kept = asyncio.run(besieged(url, words, int(found[1]), options.seconds))
    print("and they kept their pace" if kept else "and they did NOT keep their pace")


def ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz") as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    main()
