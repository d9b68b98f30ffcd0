"""`turia serve` with two real, small models: directions change while people speak, and no word is another model's."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from benchmarks.server_faults import collect
from tests.server.servers import free_port
from turia.protocol.client import Speaker
from turia.runtime.translator import Translator
from turia.stream.trace import Write

pytest.importorskip("onnx", reason="the train extra, which writes models, is not installed")
from turia.export.random_model import made_up_words, write_random_folder

pytestmark = pytest.mark.slow

SPOKEN = [word + "." * (index % 7 == 6) for index, word in enumerate(made_up_words()[:60])]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    made = [tmp_path_factory.mktemp("models") / name for name in ("de-en", "en-de")]
    # The random weights are always the same; with other vocabularies they say other words.
    for folder, vocabulary in zip(made, (500, 600), strict=True):
        folder.mkdir()
        write_random_folder(folder, "tiny", "float32", (folder.name[:2], folder.name[3:]), vocabulary)
    return made


@pytest.fixture(scope="module")
def url(folders: Sequence[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, data = free_port(), tmp_path_factory.mktemp("data")
    options = ["--port", str(port), "--streams", "4", "--data", str(data)]
    models = [word for folder in folders for word in ("--model", str(folder))]
    server = subprocess.Popen([sys.executable, "-m", "turia", "serve", *options, *models], env=os.environ)
    address = f"http://127.0.0.1:{port}"
    while True:
        try:
            urllib.request.urlopen(f"{address}/readyz", timeout=30).close()
            break
        except OSError:
            assert server.poll() is None
            time.sleep(0.1)
    yield address
    server.terminate()
    assert server.wait(timeout=60) == 0


def translated(folder: Path, words: Sequence[str]) -> list[str]:
    """What the model makes of these words alone."""
    stream = Translator.load(folder).stream(k=2, punctuation=True)
    records = [record for word in words for record in stream.push(word)] + list(stream.flush())
    return [record.word for record in records if isinstance(record, Write)]


async def speak(url: str, first: Path, second: Path) -> list[str]:
    """Says it all in one direction and then in the other; the words that came."""
    async with Speaker(url, model=first.name, k=2, punctuation=True) as speaker:
        await speaker.say(*SPOKEN[:30])
        await speaker.change(model=second.name)
        await speaker.say(*SPOKEN[30:])
        await speaker.end()
        events = await collect(speaker)
    settings = [event["model"] for event in events if event["type"] == "settings"]
    assert settings == [first.name, second.name]
    assert [event["index"] for event in events if event["type"] == "source"] == list(range(60))
    return [event["word"] for event in events if event["type"] == "write"]


def test_two_directions_change_places(url: str, folders: Sequence[Path]) -> None:
    there, back = folders

    async def both() -> list[list[str]]:
        return list(await asyncio.gather(speak(url, there, back), speak(url, back, there)))

    expected = {folder: [translated(folder, SPOKEN[:30]), translated(folder, SPOKEN[30:])] for folder in folders}
    assert expected[there] != expected[back]
    assert asyncio.run(both()) == [expected[there][0] + expected[back][1], expected[back][0] + expected[there][1]]


def test_models_say_whether_they_find_sentence_ends(url: str) -> None:
    with urllib.request.urlopen(f"{url}/api/info") as answer:
        models = json.load(answer)["models"]
    assert models[0].items() >= {"name": "de-en", "source": "de", "target": "en", "segmenter": False}.items()
    assert models[0]["policy"] == "wait-k:k=4,rounding=floor"
    assert [step["policy"] for step in models[0]["dial"]] == [f"wait-k:k={k}" for k in range(1, 13)]
