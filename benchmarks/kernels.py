"""What native code changes in quality, and in time: BLEU on a dev set with ONNX Runtime and with native code.

    python -m benchmarks.kernels de-en --dev deen.dev.tsv.xz [--sentences 200] [--k 4] [--out kernels.json]

The streams are the model's own (its beam, its history) with the reference's sentences. Native code rounds a few numbers
otherwise, so now and then a sentence is written otherwise. The difference of BLEU comes with its 95 % interval, by
paired bootstrap. Exit code 1 if native code loses more than 0.1 BLEU.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from benchmarks.commit import commit
from benchmarks.int8 import dev_documents, translate
from turia.experiments.bench import processor
from turia.runtime.kernels import Kernels, named
from turia.runtime.translator import Translator

SAMPLES = 1000
MOST_LOSS = 0.1


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
    parser.add_argument("--dev", type=Path, required=True, help="document, source and target parted by tabs; .xz too")
    parser.add_argument("--sentences", type=int, default=200, help="the first so many; 0 takes all")
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--out", type=Path, help="file for the figures")
    given = parser.parse_args()
    texts, seconds, names = [], [], []
    kinds: tuple[Kernels, Kernels] = ("onnx", "native")
    for kernels in kinds:
        translator = Translator.load(given.model, kernels=kernels)
        documents = dev_documents(given.dev, translator, given.sentences)
        began = time.process_time()
        texts.append(translate(translator, documents, given.k, translator.config.history))
        seconds.append(time.process_time() - began)
        names.append(named(translator.model.backend))
    references = [target for document in documents for target in document.target]
    scores = [BLEU().corpus_score(text, [references]).score for text in texts]
    found = {
        "machine": processor(),
        "date": str(date.today()),
        "commit": commit(),
        "model": given.model,
        "dev": given.dev.name,
        "sentences": len(references),
        "k": given.k,
        "kernels": names,
        "bleu": scores,
        "interval": interval(*texts, references),
        "same": sum(one == other for one, other in zip(*texts, strict=True)) / len(references),
        "seconds": seconds,
    }
    text = json.dumps(found, indent=1)
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")
    print(text)
    return int(scores[0] - scores[1] > MOST_LOSS)


if __name__ == "__main__":
    sys.exit(main())
