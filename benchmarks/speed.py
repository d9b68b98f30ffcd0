"""The figures of docs/bench.md: a model beside CTranslate2, and many streams at once, beside an earlier state of Turia.

    python -m benchmarks.speed de-en --out speed.json [--against OTHER-CHECKOUT/src] [--sentences 12 --rounds 3]

Everything is processor time of one thread, measured in turn, and the best round counts: quote ratios. `--against` runs
the many streams also with the Turia of another checkout, whose model folder must be one that both can read. By default
a few sentences are translated: half a minute of a processor. More `--sentences` and `--rounds` are steadier.
Figures are written as soon as they are there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.commit import stamp
from turia.engine.backend import Steps
from turia.engine.batcher import run_together
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.experiments.cost import sample
from turia.runtime.translator import Translator, find_model
from turia.segmenter.online import GivenSegmenter
from turia.text.sentence_ends import sentences

BEAMS = (1, 4)
STREAMS = (1, 4, 16)
SENTENCES = 3
"""Of the sample speech, beside CTranslate2."""
MOST_WORDS = 12
"""Of a sentence, where many streams run at once."""


def main() -> None:
    parser = argparse.ArgumentParser(description="A model beside CTranslate2, and many streams at once.")
    parser.add_argument("model")
    parser.add_argument("--out", type=Path, help="file for the figures")
    parser.add_argument("--against", type=Path, metavar="SRC", help="`src` of another checkout")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--only-streams", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = find_model(given.model)
    if given.only_streams:
        print(json.dumps(together(folder)))
        return
    found: dict[str, Any] = dict(stamp())
    sources = {"turia": Path(__file__).parents[1] / "src"}
    if given.against:
        sources["against"] = given.against.resolve()
    rates: dict[str, dict[str, float]] = {}
    for _ in range(given.rounds):
        for name, source in sources.items():
            for key, rate in in_another(source, folder).items():
                rates.setdefault(name, {})[key] = max(rate, rates.get(name, {}).get(key, 0.0))
    found["words_per_second"] = rates
    _keep(found, given.out)
    found["contest"] = beside_ctranslate2(folder, given.sentences, given.rounds)
    _keep(found, given.out)
    print(json.dumps(found, indent=1))


def _keep(found: dict[str, Any], out: Path | None) -> None:
    if out is not None:
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def beside_ctranslate2(folder: Path, count: int, rounds: int) -> dict[str, Any]:
    """As `turia bench --contest`."""
    from turia.experiments.contest import contest
    from turia.export.as_ctranslate2 import save_as_ctranslate2

    model = Translator.load(folder).model
    speech = sentences(sample(model.languages[0]), model.languages[0])
    with TemporaryDirectory(prefix="turia-") as other:
        save_as_ctranslate2(folder, Path(other))
        show = lambda share, detail: print(f"{share:.0%} {detail}", file=sys.stderr, flush=True)  # noqa: E731
        return contest(model, Path(other), speech[:count], 4, BEAMS, rounds, show).as_json()


def together(folder: Path) -> dict[str, float]:
    """Source words a second of so many streams, k = 4, by the beam: different sentences of the sample speech."""
    model = Translator.load(folder).model
    speech = [words[:MOST_WORDS] for words in sentences(sample(model.languages[0]), model.languages[0])]
    rates = {}
    for beam in BEAMS:
        settings = Settings(k=4, gamma=model.gamma, history=0, beam=beam)
        for streams in STREAMS:
            # One stream alone translates as many words as four.
            count = max(1, 4 // streams)
            spoken = [
                [speech[(first * count + number) % len(speech)] for number in range(count)] for first in range(streams)
            ]
            # First a few words of each, for which graphs are loaded.
            for said in ([[one[0][:6]] for one in spoken], spoken):
                began = time.process_time()
                run_together([_translate(model, settings, one) for one in said], model.backend)
                seconds = time.process_time() - began
            words = sum(len(sentence) for one in spoken for sentence in one)
            rates[f"beam {beam}, {streams} streams"] = words / seconds
    return rates


def _translate(model: Model, settings: Settings, speech: list[list[str]]) -> Steps[None]:
    stream = Stream(model, GivenSegmenter([len(words) for words in speech]), settings)
    for words in speech:
        for word in words:
            yield from stream.push_steps(word)


def in_another(source: Path, folder: Path) -> dict[str, float]:
    """`together` with the Turia of `source`, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{Path(__file__).parents[1]}"}
    command = [sys.executable, "-m", "benchmarks.speed", str(folder), "--only-streams"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=source)
    rates: dict[str, float] = json.loads(run.stdout)
    return rates


if __name__ == "__main__":
    main()
