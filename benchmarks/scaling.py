"""What many machines cost: python -m benchmarks.scaling --model MODEL [--seconds 20] [--least 1] [--most 200] [PART]

`store`: advances a second of one Redis (`appendfsync always`), bytes that an advance sends, memory of a journal.
`one`: the way of a word of one stream to its acknowledgement and back, with plain `turia serve` (SQLite; Redis) and on
Ray Serve, and the processor time of all processes for it. `held`: streams at 2.5 words a second that 1 and 2 replicas
on this machine hold, with 95 % of the messages within 500 ms. docs/scaling.md has its figures; for figures of your own,
let nothing else run. Processor times hold on a busy machine too.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray
from ray import serve

from benchmarks.server_load import SAMPLE, SHARE, Delays, ready, serving, speak
from tests.server.redises import RedisServer
from tests.server.servers import free_port
from turia.policy.waitk import WaitK
from turia.protocol.client import Speaker
from turia.protocol.events import EVENTS, SourceWord
from turia.runtime.translator import Translator, find_model
from turia.server.capacity import WORDS_PER_SECOND
from turia.server.captions import Captions
from turia.server.choices import StreamChoice
from turia.server.on_ray import Deployed, application, begin_ray
from turia.server.progress import Progress
from turia.server.stores.base import SessionUpdate, StoredSession
from turia.server.stores.redis import RedisStore
from turia.stream.trace import Write

TICKS = os.sysconf("SC_CLK_TCK")
PARTS = {
    "server": "turia serve",
    "redis": "redis-server",
    "replicas": "ray::ServeReplica",
    "proxy": "ray::ProxyActor",
    "controller": "ray::ServeController",
    "rest of Ray": "/ray/",
}
"""Processes by what their command line has; the first that fits. Servers of others on this machine do not count."""
SETTLE_SECONDS = 2.5
"""Replicas hand in what they counted once a second."""


class TimedSpeaker(Speaker):
    """Notes when inputs are said and acknowledged."""

    def __init__(self, url: str) -> None:
        super().__init__(url, k=4, punctuation=True)
        self.said: dict[int, float] = {}
        self.taken: dict[int, float] = {}

    async def say_timed(self, word: str) -> None:
        self.said[self._next] = time.perf_counter()
        await self.say(word)

    def _acknowledged(self, seq: int) -> None:
        self.taken.setdefault(seq, time.perf_counter())
        super()._acknowledged(seq)


def processor_seconds() -> dict[str, float]:
    """Processor time so far of the processes of a server, by part."""
    found: dict[str, float] = defaultdict(float)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        part = next((part for part, text in PARTS.items() if text in command), None)
        own = "ray" in command or int(fields[1]) == os.getpid()
        if part is not None and own:
            found[part] += (int(fields[11]) + int(fields[12])) / TICKS
    return found


async def round_trips(url: str, words: list[str], seconds: float) -> list[float]:
    """Milliseconds from each word to its acknowledgement, of one stream at its pace."""
    speaker = TimedSpeaker(url)
    async with speaker:
        for index in range(int(seconds * WORDS_PER_SECOND)):
            await speaker.say_timed(words[index % len(words)])
            await asyncio.sleep(1 / WORDS_PER_SECOND)
        await speaker.end()
        async for _ in speaker.events():
            pass
        both = speaker.said.keys() & speaker.taken.keys()
        return [1000 * (speaker.taken[seq] - speaker.said[seq]) for seq in both]


@contextmanager
def on_ray(store: str, model: str, replicas: int, streams: int) -> Iterator[str]:
    """The address of so many replicas on this machine."""
    port = free_port()
    begin_ray()
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        deployed = Deployed(store, (model,), streams, least=replicas, most=replicas)
        serve.run(application(deployed), name="turia", route_prefix="/")
        url = f"http://127.0.0.1:{port}"
        while not ready(url):
            time.sleep(0.1)
        yield url
        serve.shutdown()
    finally:
        ray.shutdown()


async def share_in_time(url: str, words: list[str], streams: int, seconds: float) -> float:
    """Of the messages of so many streams at their pace."""
    await asyncio.sleep(SETTLE_SECONDS)
    before = Delays.read(url)
    offsets = [n / streams / WORDS_PER_SECOND for n in range(streams)]
    starts = [words[7 * n % len(words) :] + words[: 7 * n % len(words)] for n in range(streams)]
    await asyncio.gather(*(speak(url, own, seconds, offset) for own, offset in zip(starts, offsets, strict=True)))
    await asyncio.sleep(SETTLE_SECONDS)
    return Delays.read(url).since(before)


def report_one(store: str, model: str, words: list[str], seconds: float) -> None:
    for name, options in (("plain, SQLite", ()), ("plain, Redis", ("--store", store))):
        with serving("--model", model, "--streams", "16", *options) as (url, _):
            report_word(name, url, words, seconds)
    with on_ray(store, model, 1, 16) as url:
        report_word("Ray, Redis", url, words, seconds)


def report_word(name: str, url: str, words: list[str], seconds: float) -> None:
    idle = processor_seconds()
    time.sleep(seconds / 2)
    before = processor_seconds()
    times = asyncio.run(round_trips(url, words, seconds))
    after = processor_seconds()
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"one stream, {name}: p50 {p50:.1f} ms, p95 {p95:.1f} ms ({len(times)} words)", flush=True)
    for part in after:
        resting = (before[part] - idle[part]) / (seconds / 2)
        # Rounds that wait for the last events take a little longer than `seconds`.
        own = after[part] - before[part] - resting * seconds
        print(
            f"    {part}: {1000 * own / len(times):.1f} ms of processor a word; idle {resting:.1%} of a core",
            flush=True,
        )


def report_held(store: str, model: str, words: list[str], seconds: float, least: int, most: int) -> None:
    for replicas in (1, 2):
        with on_ray(store, model, replicas, most) as url:
            best, streams = 0, max(replicas, least)
            while streams <= most:
                share = asyncio.run(share_in_time(url, words, streams, seconds))
                print(f"{replicas} replicas, {streams} streams: {share:.1%} within 500 ms", flush=True)
                if share < SHARE:
                    break
                best, streams = streams, max(streams + 1, round(streams * 1.5))
            print(f"{replicas} replicas hold {best} streams", flush=True)


def report_store(url: str, model: str) -> None:
    """Advances as a replica makes them: a batch of sessions, a word and its events each."""
    translator = Translator.load(model)
    choice = StreamChoice(translator.model.name, WaitK(4), punctuation=True)
    captions, first = Captions.begin({translator.model.name: translator}, choice)
    for word in SAMPLE.read_text(encoding="utf-8").split()[:200]:
        captions.stream.push(word)
    state = captions.state()
    made = (SourceWord("Parlament", 1234, 123456.7), Write("Parliament", 1234, 1236, 77, "policy", 123456.7))
    events = tuple(EVENTS.to_json(event) for event in made)
    store = RedisStore(url)
    for batch in (1, 4, 16):
        names = [f"bench-{batch}-{n}" for n in range(batch)]
        for name in names:
            stored = StoredSession(name, "owner", "hash", 0.0, 0.0, captions.progress, state)
            store.create(stored, [EVENTS.to_json(first)])
        info, began, cpu, rounds = store.client.info(), time.perf_counter(), time.process_time(), 200
        for n in range(rounds):
            before, after = Progress(n, 1 + 2 * n), Progress(n + 1, 3 + 2 * n)
            assert all(store.advance([SessionUpdate(name, 1, before, after, events, state, 1.0) for name in names]))
        seconds, mine, now, count = (
            time.perf_counter() - began,
            time.process_time() - cpu,
            store.client.info(),
            rounds * batch,
        )
        size = (now["total_net_input_bytes"] - info["total_net_input_bytes"]) / count
        theirs = sum(now[name] - info[name] for name in ("used_cpu_user", "used_cpu_sys"))
        print(f"store, batches of {batch}: {count / seconds:.0f} advances/s, {size / 1024:.1f} KiB each,", flush=True)
        print(
            f"    {1e6 * theirs / count:.0f} us of Redis' processor and {1e6 * mine / count:.0f} us of ours", flush=True
        )
    memory = store.client.memory_usage("turia:{bench-16-0}:events", samples=0) / (1 + 2 * 200)
    print(f"store: state {len(state) / 1024:.1f} KiB, {memory:.0f} bytes of memory an event", flush=True)
    store.close()


def model_folder(model: str) -> str:
    """The folder of a model's name or path, as processes with another working directory find it."""
    return str(find_model(model).absolute())


def main() -> None:
    parser = argparse.ArgumentParser(description="What many machines cost.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--least", type=int, default=1, help="streams to begin with")
    parser.add_argument("--most", type=int, default=200, help="streams to end with at the latest")
    parser.add_argument("parts", nargs="*", default=["store", "one", "held"])
    options = parser.parse_args()
    model, words = model_folder(options.model), SAMPLE.read_text(encoding="utf-8").split()
    with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder)) as redis:
        if "store" in options.parts:
            report_store(redis.url, model)
        if "one" in options.parts:
            report_one(redis.url, model, words, options.seconds)
        if "held" in options.parts:
            report_held(redis.url, model, words, options.seconds, options.least, options.most)


if __name__ == "__main__":
    main()
