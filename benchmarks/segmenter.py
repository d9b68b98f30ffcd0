"""The segmenter: microseconds per word as a stream grows, and how well it finds sentence ends.

    python -m benchmarks.segmenter speed FOLDER
    python -m benchmarks.segmenter quality FOLDER CORPUS.tsv.xz ...

FOLDER is an exported segmenter. `speed` pushes one stream of a million words, drawn from the vocabulary as frequently
as words are in texts (rank to the power of -1), and times stretches of it. Times are processor time, so that another
job on the machine does not count. `quality` runs the segmenter online over parallel corpora (document, German,
English), a line being a sentence, and prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.commit import commit
from benchmarks.segmentation import evaluate, every, stream_of
from turia.config import Corpus
from turia.experiments.bench import processor
from turia.formats import documents
from turia.segmenter.classifier import SegmenterSettings
from turia.segmenter.stream_classifier import load_classifier
from turia.text.normalise import normalise
from turia.training.segmenter.scores import BoundaryScore, Flags, score

STRETCHES = ((0, 1_000), (9_000, 10_000), (99_000, 100_000), (999_000, 1_000_000))


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and quality of a segmenter.")
    commands = parser.add_subparsers(dest="command", required=True)
    speed_options = commands.add_parser("speed")
    speed_options.add_argument("folder", type=Path)
    speed_options.add_argument("--words", type=int, default=1_000_000)
    speed_options.add_argument("--windows", type=int, nargs="+", default=[2])
    quality_options = commands.add_parser("quality")
    quality_options.add_argument("folder", type=Path)
    quality_options.add_argument("corpora", type=Path, nargs="+")
    quality_options.add_argument("--argmax", action="store_true", help="decide at 0.5, as the paper does")
    given = parser.parse_args()
    print(f"{platform.node()}, {processor()}, {date.today()}, commit {commit()}\n")
    if given.command == "speed":
        for window in given.windows:
            speed(given.folder, window, given.words)
    else:
        quality(given.folder, given.corpora, given.argmax)


def speed(folder: Path, window: int, words: int) -> None:
    """Prints the time per word of stretches of one stream."""
    classifier = load_classifier(folder, window)
    segmenter = classifier.segmenter()
    spoken = [entry for entry in classifier.vocabulary.entries if not entry.startswith("~")]
    frequency = 1 / np.arange(1, len(spoken) + 1)
    drawn = np.random.default_rng(1).choice(len(spoken), words, p=frequency / frequency.sum())
    stretches = dict(STRETCHES)
    ends = given_out = 0
    started = whole = time.process_time()
    for number, index in enumerate(drawn.tolist()):
        if number in stretches:
            started = time.process_time()
        for visible in segmenter.push(spoken[index]):
            given_out += 1
            ends += visible.ends_sentence
        for start, end in STRETCHES:
            if number + 1 == end:
                spent = (time.process_time() - started) / (end - start)
                print(f"w={window} words {start:>7}-{end:<8} {spent * 1e6:7.1f} us/word", flush=True)
    spent = (time.process_time() - whole) / words
    given_out += sum(visible.word is not None for visible in segmenter.flush())
    assert given_out == words
    print(f"w={window} all {words} words {spent * 1e6:7.1f} us/word, {ends} sentence ends\n")


def quality(folder: Path, corpora: list[Path], argmax: bool = False) -> None:
    """Prints precision, recall and F1 for every corpus and window, beside the baseline."""
    settings = SegmenterSettings.load(folder)
    streams = {path.name.split(".tsv")[0]: stream_of(_sentences(path, settings.language)) for path in corpora}
    print("| corpus | words | sentences | decision | P | R | F1 |\n|---|---|---|---|---|---|---|")
    for name, (words, expected) in streams.items():
        length = len(words) / int(expected.sum())
        baseline = score(every(length, len(words)), expected)
        print(_row(name, words, expected, f"every {length:.1f} words", baseline))
        for window, decision in sorted(settings.decisions.items()):
            chosen = decision.argmax() if argmax else decision
            segmenter = load_classifier(folder, window).segmenter(decision=chosen)
            found = evaluate(segmenter, words, expected)
            print(_row(name, words, expected, f"w={window}, p ≥ {chosen.threshold:.2f}", found), flush=True)


def _row(name: str, words: list[str], expected: Flags, decision: str, found: BoundaryScore) -> str:
    cells = (name, len(words), int(expected.sum()), decision)
    scores = (f"{value * 100:.1f}" for value in (found.precision, found.recall, found.f1))
    return f"| {' | '.join(map(str, (*cells, *scores)))} |"


def _sentences(path: Path, language: str) -> Iterator[list[str]]:
    for document in documents.read(Corpus(path=path), language, language):
        yield from map(normalise, document.source)


if __name__ == "__main__":
    main()
