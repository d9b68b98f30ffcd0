"""Whether a beam's translations are too short: BLEU and length with several penalties of length, in one run.

    python -m benchmarks.length MODEL CORPUS [--sentences 300] [--k 8] [--beam 4] [--penalty 0.8 1 1.2 1.5 2]

When a sentence is complete, the beam compares continuations by log-probability / pieces ** penalty. 1, the mean, is
what Turia does; more prefers longer ones. The sentences are the corpus's, each a stream by itself, without history.

    python -m benchmarks.length FOLDER CORPUS --store 1.5

measures nothing, but stores a penalty in the config.json of a model folder (`length_penalty`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from turia.config import Corpus
from turia.engine.stream import Stream
from turia.evaluation.quality import bleu, paired_p_values
from turia.experiments.jobs import Job, translate_all
from turia.formats.documents import read
from turia.runtime.folder import load_folder, write_config, write_sums
from turia.runtime.translator import Translator, find_model
from turia.segmenter.online import GivenSegmenter

TOGETHER = 8


def translated(translator: Translator, penalty: float, sources: Sequence[str], k: int, beam: int) -> list[str]:
    """The translation of each source."""
    changed = Translator(load_folder(translator.folder), replace(translator.model, length_penalty=penalty))

    def job(source: str) -> Job:
        words = source.split()

        def begin() -> Stream:
            segmenter = GivenSegmenter([len(words)])
            return changed.stream(policy=f"wait-k:k={k}", beam=beam, history=0, segmenter=segmenter)

        return Job(begin, words)

    traces = translate_all([job(source) for source in sources], changed.model.backend, TOGETHER, lambda words: None)
    return [" ".join(trace.words()) for trace in traces]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path, help="dev set: a tsv file, plain or compressed")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--penalty", type=float, nargs="+", default=[0.8, 1.0, 1.2, 1.5, 2.0])
    parser.add_argument("--store", type=float, help="store this penalty in the model folder, and measure nothing")
    arguments = parser.parse_args()
    if arguments.store is not None:
        folder = find_model(arguments.model)
        write_config(replace(load_folder(folder).config, length_penalty=arguments.store), folder)
        write_sums(folder)
        return
    translator = Translator.load(arguments.model)
    documents = read(Corpus(path=arguments.corpus), *translator.model.languages, held_out=True)
    every = (pair for one in documents for pair in zip(one.source, one.target, strict=True))
    sources, references = zip(*islice(every, arguments.sentences), strict=True)
    penalties = sorted({1.0, *arguments.penalty})
    hypotheses = {p: translated(translator, p, sources, arguments.k, arguments.beam) for p in penalties}
    others = [p for p in penalties if p != 1]
    p_values = paired_p_values(hypotheses[1.0], [hypotheses[p] for p in others], references, 1000)
    chance = dict(zip(others, p_values, strict=True))
    length = sum(len(line.split()) for line in references)
    print(f"{arguments.corpus.name}: {len(sources)} sentences, k = {arguments.k}, beam {arguments.beam}")
    print("| penalty | BLEU | length | other sentences | p |\n|---:|---:|---:|---:|---:|")
    for penalty, lines in hypotheses.items():
        words = sum(len(line.split()) for line in lines)
        other = sum(one != two for one, two in zip(lines, hypotheses[1.0], strict=True))
        p = f"{chance[penalty]:.3f}" if penalty in chance else ""
        print(f"| {penalty:g} | {bleu(lines, references).value:.2f} | {words / length:.3f} | {other} | {p} |")


if __name__ == "__main__":
    main()
