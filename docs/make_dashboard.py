"""Makes docs/figures/dashboard.png: `python docs/make_dashboard.py [SECONDS]`.

A real server is sent text and sound, Prometheus reads its metrics, every query of deploy/grafana-dashboard.json is
asked of Prometheus, and matplotlib draws the answers. It is not a picture of Grafana itself. Needs `prometheus`
(Debian's package) and the plot and speech extras.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import wave
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import matplotlib.pyplot as plt
from websockets.asyncio.client import ClientConnection, connect

from turia.errors import TuriaError
from turia.protocol.client import Follower, Speaker
from turia.protocol.sound import HEADER, SOUND, SOUND_RATE

ROOT = Path(__file__).parents[1]
DASHBOARD = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text(encoding="utf-8"))
SERVER, PROMETHEUS = "127.0.0.1:8126", "127.0.0.1:9126"
WORDS_PER_SECOND = 2.5
CONFIG = """
global: {scrape_interval: 2s}
scrape_configs: [{job_name: turia, static_configs: [{targets: ["%s"]}]}]
"""


@contextmanager
def running(command: list[str], ready: str) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            with suppress(OSError):
                urllib.request.urlopen(ready, timeout=5).close()
                break
            assert process.poll() is None, command
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait()


async def speak(begin: float, seconds: float, cut: bool) -> None:
    """A speaker who comes late, and perhaps loses the connection once; two viewers follow."""
    await asyncio.sleep(begin)
    words = (ROOT / "src/turia/server/static/sample.de.txt").read_text(encoding="utf-8").split()
    with suppress(TuriaError):
        async with Speaker(f"http://{SERVER}", k=4) as speaker, Follower(speaker.url, speaker.session):
            until, number = time.monotonic() + seconds, 0
            while time.monotonic() < until:
                await speaker.say(words[number % len(words)])
                number += 1
                if cut and number == 40 and speaker._socket is not None:
                    speaker._socket.transport.abort()
                await asyncio.sleep(1 / WORDS_PER_SECOND)
            await speaker.end()
            async for _ in speaker.events():
                pass


async def send_on(socket: ClientConnection) -> None:
    """Sends the words that the server has heard, for it to translate."""
    inputs = 0
    async for text in socket:
        message = json.loads(text)
        if message["type"] != "heard":
            continue
        if message["words"]:
            words = {"words": message["words"], "times": message["times"]}
            await socket.send(json.dumps({"type": "words", "seq": inputs + 1, **words}))
            inputs += len(message["words"])
        if message["pause"]:
            inputs += 1
            await socket.send(json.dumps({"type": "pause", "seq": inputs}))


async def sound(seconds: float) -> None:
    """A speaker whose microphone hears the example, again and again."""
    with wave.open(str(ROOT / "examples/speech/english.wav")) as file:
        spoken = file.readframes(file.getnframes())
    asked = urllib.request.Request(
        f"http://{SERVER}/api/sessions", b'{"model": "en-de", "pause": 0}', {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked) as answer:
        ticket = json.load(answer)["ticket"]
    async with connect(f"ws://{SERVER}/socket") as socket:
        await socket.send(json.dumps({"type": "hello", "protocol": 1, "ticket": ticket}))
        await socket.send(json.dumps({"type": "listen", "from": 0, "language": "en"}))
        while json.loads(await socket.recv())["type"] != "listening":
            pass
        sending = asyncio.create_task(send_on(socket))
        begin, first, block = time.monotonic(), 0, SOUND_RATE // 5
        while (now := time.monotonic() - begin) < seconds:
            at = 2 * first % len(spoken)
            pcm = spoken[at : at + 2 * block]
            await socket.send(HEADER.pack(SOUND, first) + pcm)
            first += len(pcm) // 2
            await asyncio.sleep(max(0.0, first / SOUND_RATE - now))
        sending.cancel()


async def audience(seconds: float) -> None:
    """One is heard; six others send text for the three streams that are left, so the last three are refused."""
    texts = [speak(seconds * n / 8, seconds * (8 - n) / 9, cut=n == 1) for n in range(6)]
    await asyncio.gather(sound(seconds), *texts)


def asked(expression: str, begin: float, end: float) -> list[dict[str, object]]:
    query = {"query": expression.replace("$instance", ".*"), "start": begin, "end": end, "step": 2}
    with urllib.request.urlopen(f"http://{PROMETHEUS}/api/v1/query_range?{urllib.parse.urlencode(query)}") as answer:
        return json.load(answer)["data"]["result"]


def draw(begin: float, end: float) -> None:
    rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in DASHBOARD["panels"])
    figure = plt.figure(figsize=(12, rows / 3), layout="constrained")
    grid = figure.add_gridspec(rows, 24)
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        axes = figure.add_subplot(grid[at["y"] : at["y"] + at["h"], at["x"] : at["x"] + at["w"]])
        for target in panel["targets"]:
            for series in asked(target["expr"], begin, end):
                if "code" in series["metric"] and not any(float(value) for _, value in series["values"]):
                    # A reason for which nobody was refused.
                    continue
                points = [(float(when), float(value)) for when, value in series["values"]]
                name = target["legendFormat"]
                code = series["metric"].get("code", "")
                name = name.replace("{{instance}}", "").replace("{{code}}", code)
                minutes = [(when - begin) / 60 for when, _ in points]
                axes.plot(minutes, [value for _, value in points], label=name.strip(), linewidth=1.5)
        unit = " (s)" if panel["fieldConfig"]["defaults"]["unit"] == "s" else ""
        axes.set_title(panel["title"] + unit, fontsize=10, loc="left")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, (end - begin) / 60)
        axes.set_xlabel("minutes", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
        if len(axes.lines) > 1:
            axes.legend(fontsize=8)
    figure.savefig(ROOT / "docs" / "figures" / "dashboard.png", dpi=80)


def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "prometheus.yml").write_text(CONFIG % SERVER)
        host, port = SERVER.split(":")
        serve = [sys.executable, "-m", "turia", "serve", "--host", host, "--port", port]
        serve += ["--model", "de-en", "--model", "en-de", "--streams", "4", "--beam", "1", "--data", folder]
        watch = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        with (
            running(serve, f"http://{SERVER}/readyz"),
            running([*watch, f"--web.listen-address={PROMETHEUS}"], f"http://{PROMETHEUS}/-/ready"),
        ):
            begin = time.time()
            asyncio.run(audience(seconds))
            draw(begin, time.time())


if __name__ == "__main__":
    os.chdir(ROOT)
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 300.0)
