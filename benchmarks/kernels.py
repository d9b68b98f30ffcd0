"""What native code gains in time, and what it changes in quality, beside ONNX Runtime and CTranslate2 in one run.

    python -m benchmarks.kernels de-en --out kernels.json [--rounds 3] [--threads 2] [--no-words]
                                 [--dev deen.dev.tsv.xz dev2010.tsv.xz --sentences 200 --loss]

Time: a word of the sample speech, greedy and with a beam of 4; and source words a second of 1 to 64 streams, which
translate the same 64 sentences of 12 words. All is processor time of one thread, measured in turn; the best round
counts, and ratios are to be quoted. It needs the package ctranslate2, unless `--no-words` leaves out the first.
`--rounds 0` measures no time.

With `--threads`, the streams are also run with native code in so many threads. Then the clock on the wall counts, so
the cores must be free; the file has the rates of one thread by that clock, too.

Quality, with `--dev`: BLEU of the model's own streams, with the reference's sentences. Native code rounds a few numbers
otherwise, so now and then a sentence is written otherwise. The difference comes with its 95 % interval, by paired
bootstrap. With `--loss` also the dev loss, and how far logits are from those of the same weights in float32
(benchmarks/forced.py), and BLEU of float32. Exit code 1 if native code loses more than 0.1 BLEU on any dev set: what it
gains on one does not make up for another.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from benchmarks.commit import stamp
from benchmarks.forced import forced_pairs, in_float32, losses
from benchmarks.int8 import dev_documents, translate
from turia.engine.backend import Steps
from turia.engine.batcher import run_together
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.experiments.contest import CTranslate2Streamer, Streamer, TuriaStreamer
from turia.experiments.cost import sample
from turia.export.as_ctranslate2 import save_as_ctranslate2
from turia.runtime.kernels import Kernels, named
from turia.runtime.translator import Translator, find_model
from turia.segmenter.online import GivenSegmenter
from turia.text.sentence_ends import sentences

KINDS: tuple[Kernels, Kernels] = ("onnx", "native")
BEAMS = (1, 4)
STREAMS = (1, 4, 16, 64)
WORDS = 12
"""Of a sentence, where many streams run at once."""
SAMPLES = 1000
K = 4
MOST_LOSS = 0.1


def words_in_turn(models: dict[str, Model], folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds a source word, by the beam, of each contestant."""
    one = next(iter(models.values()))
    speech = sentences(sample(one.languages[0]), one.languages[0])
    count = sum(map(len, speech))
    found: dict[str, dict[str, float]] = {}
    with TemporaryDirectory(prefix="turia-") as other:
        save_as_ctranslate2(folder, Path(other))
        for beam in BEAMS:
            settings = Settings(k=K, gamma=one.gamma, history=0, beam=beam)
            contestants: dict[str, Streamer] = {
                **{name: TuriaStreamer(model, settings) for name, model in models.items()},
                "CTranslate2": CTranslate2Streamer(Path(other), one, settings),
            }
            best = found.setdefault(f"beam {beam}", {})
            for turn in range(rounds + 1):
                for name, streamer in contestants.items():
                    began = time.process_time()
                    streamer(speech if turn else speech[:1])
                    if turn:
                        best[name] = min(1000 * (time.process_time() - began) / count, best.get(name, float("inf")))
    return found


Rates = dict[str, dict[str, dict[int, float]]]
"""Source words a second of so many streams, by the kernels and the beam."""


def streams_in_turn(models: dict[str, Model], rounds: int) -> tuple[Rates, Rates]:
    """By processor time, and by the clock on the wall."""
    one = next(iter(models.values()))
    said = [words[:WORDS] for words in sentences(sample(one.languages[0]), one.languages[0]) if len(words) >= WORDS]
    most = max(STREAMS)
    speech = [said[number % len(said)] for number in range(most)]
    found: tuple[Rates, Rates] = ({}, {})
    for turn in range(rounds + 1):
        for beam in BEAMS:
            for streams in STREAMS:
                # The first turn loads graphs.
                spoken = [speech[first::streams] for first in range(streams)]
                spoken = spoken if turn else [one[:1] for one in spoken]
                for name, model in models.items():
                    settings = Settings(k=K, gamma=model.gamma, history=0, beam=beam)
                    began = time.process_time(), time.perf_counter()
                    run_together([_speak(model, settings, one) for one in spoken], model.backend, 4 * most)
                    took = time.process_time() - began[0], time.perf_counter() - began[1]
                    for rates, seconds in zip(found, took, strict=True):
                        best = rates.setdefault(name, {}).setdefault(f"beam {beam}", {})
                        best[streams] = max(most * WORDS / seconds if turn else 0.0, best.get(streams, 0.0))
    return found


def _speak(model: Model, settings: Settings, speech: Sequence[Sequence[str]]) -> Steps[None]:
    stream = Stream(model, GivenSegmenter([len(words) for words in speech]), settings)
    for words in speech:
        for word in words:
            yield from stream.push_steps(word)


def quality(translators: dict[str, Translator], dev: Path, most: int) -> dict[str, Any]:
    """BLEU of all; how the second differs from the first; and the losses of these two, if float32 is among them."""
    documents = dev_documents(dev, next(iter(translators.values())), most)
    references = [target for document in documents for target in document.target]
    texts = {name: translate(one, documents, K, one.config.history) for name, one in translators.items()}
    one, other, *_ = texts.values()
    found = {
        "dev": dev.name,
        "sentences": len(references),
        "bleu": {name: BLEU().corpus_score(text, [references]).score for name, text in texts.items()},
        "interval": interval(one, other, references),
        "same": sum(mine == theirs for mine, theirs in zip(one, other, strict=True)) / len(references),
    }
    if "float32" in translators:
        models = {name: translator.model for name, translator in translators.items()}
        reference = models.pop("float32")
        found["forced"] = losses(models, reference, forced_pairs(reference, documents, K))
    return found


def interval(one: list[str], other: list[str], references: list[str]) -> tuple[float, float]:
    """95 % of the differences of BLEU, `other` - `one`, over resampled sentences."""
    random, differences = np.random.default_rng(1), []
    bleu = BLEU()
    counts = [np.array(bleu._extract_corpus_statistics(texts, [references])) for texts in (one, other)]
    for _ in range(SAMPLES):
        chosen = random.integers(len(references), size=len(references))
        scores = [bleu._compute_score_from_stats(list(each[chosen].sum(axis=0))).score for each in counts]
        differences.append(scores[1] - scores[0])
    low, high = np.quantile(differences, [0.025, 0.975])
    return float(low), float(high)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of native code, where many streams run at once")
    parser.add_argument("--no-words", action="store_true", help="leave out single streams, and so CTranslate2")
    parser.add_argument(
        "--dev", type=Path, nargs="+", default=[], help="document, source and target parted by tabs; .xz too"
    )
    parser.add_argument("--sentences", type=int, default=200, help="of each --dev, the first so many; 0 takes all")
    parser.add_argument("--loss", action="store_true", help="of --dev, the dev loss, and all in float32 as well")
    parser.add_argument("--out", type=Path, help="file for the figures")
    given = parser.parse_args()
    if given.loss and not given.dev:
        parser.error("--loss needs --dev")
    translators = {kernels: Translator.load(given.model, kernels=kernels) for kernels in KINDS}
    models: dict[str, Model] = {kernels: translator.model for kernels, translator in translators.items()}
    found: dict[str, Any] = stamp() | {"model": given.model}
    found["kernels"] = [named(model.backend) for model in models.values()]
    if given.rounds and not given.no_words:
        found["milliseconds_per_word"] = words_in_turn(models, find_model(given.model), given.rounds)
    if given.threads > 1:
        name = f"native, {given.threads} threads"
        models[name] = Translator.load(given.model, kernels="native", threads=given.threads).model
    if given.rounds:
        found["words_per_second"], found["words_per_second_by_the_clock"] = streams_in_turn(models, given.rounds)
    with ExitStack() as stack:
        compared = {str(name): one for name, one in translators.items()}
        if given.loss:
            compared["float32"] = stack.enter_context(in_float32(find_model(given.model)))
        found["quality"] = [quality(compared, dev, given.sentences) for dev in given.dev]
    text = json.dumps(found, indent=1)
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")
    print(text)
    return int(any(one["bleu"]["onnx"] - one["bleu"]["native"] > MOST_LOSS for one in found["quality"]))


if __name__ == "__main__":
    sys.exit(main())
