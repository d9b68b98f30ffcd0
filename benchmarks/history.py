"""What history is worth to a trained run: the loss of the same dev sentences, placed in three ways.

    python benchmarks/history.py RUN CORPUS [--k 6] [--history 60] [--sentences 300]

Alone; alone, but as many positions further on as a history would push it, of which nothing is seen; and behind that
history, source and reference. The second tells what standing further on costs, the third what seeing the history wins
back. Teacher forcing, only sentences that have a history, nats a piece with the closing symbol, differences with their
standard error. Needs the train extra. What history is worth in BLEU tells recipes/sweep-history-de-en.toml.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from turia.config import Corpus
from turia.corpus.batches import pad
from turia.corpus.shards import load_subwords
from turia.formats.documents import read
from turia.model.checkpoint import load_json, load_model
from turia.model.transformer import Transformer
from turia.policy.masks import cross_limit, encoder_reach
from turia.stream.history import history_start
from turia.text.layout import Rows, Sentence, Window, closing_symbol, lay_out, target_rows
from turia.text.normalise import clean, normalise
from turia.text.subwords import Subwords
from turia.training.run import RunFolder

TOGETHER = 12


@dataclass(frozen=True)
class Placed:
    """A sentence and what is before it."""

    source: Window
    target: Window
    rows: Rows
    shift: tuple[int, int]
    """Positions that both sides begin further on."""
    labels: int
    """Pieces of the sentence itself, closing symbol included."""


@dataclass(frozen=True)
class Placings:
    """One sentence in all three places."""

    alone: Placed
    moved: Placed
    behind: Placed


def placings(pairs: list[tuple[Sentence, Sentence]], index: int, start: int, ends_document: bool) -> Placings:
    """The sentence `index` of a document, whose history begins with the pair `start`."""
    closing = closing_symbol(ends_document)

    def place(first: int, shift: tuple[int, int]) -> Placed:
        source, target = ([pair[side] for pair in pairs[first : index + 1]] for side in (0, 1))
        opens = first == 0
        return Placed(
            lay_out(source, opens, closing),
            lay_out(target, opens, closing),
            target_rows(target),
            shift,
            len(target[-1].ids) + 1,
        )

    # A separator behind each sentence of the history.
    source_shift, target_shift = (sum(len(pair[side].ids) + 1 for pair in pairs[start:index]) for side in (0, 1))
    return Placings(place(index, (0, 0)), place(index, (source_shift, target_shift)), place(start, (0, 0)))


def dev_sentences(path: Path, run: RunFolder, history: int, sentences: int) -> Iterator[Placings]:
    """Those of the first `sentences` that have a history."""
    recipe = run.recipe()
    source_subwords, target_subwords = load_subwords(run.path)
    left = sentences
    for document in read(Corpus(path=path), recipe.source_language, recipe.target_language):
        taken = list(islice(zip(document.source, document.target, strict=True), left))
        left -= len(taken)
        pairs = [
            (_sentence(source_subwords, normalise(source)), _sentence(target_subwords, clean(target)))
            for source, target in taken
        ]
        lengths = [[len(pair[side].pieces) for pair in pairs] for side in (0, 1)]
        for index in range(len(pairs)):
            start = history_start(lengths[0][:index], lengths[1][:index], history)
            if start < index:
                yield placings(pairs, index, start, index + 1 == len(document.source))


def _sentence(subwords: Subwords, words: list[str]) -> Sentence:
    pieces = [subwords.encode_word(word) for word in words]
    return Sentence(np.array([piece for word in pieces for piece in word]), np.array([len(word) for word in pieces]))


@torch.no_grad()
def losses(model: Transformer, placed: list[Placed], k: int, gamma: float) -> npt.NDArray[np.float64]:
    """The nats of each sentence."""
    shape, found = model.shape, np.zeros(len(placed))
    order = sorted(range(len(placed)), key=lambda number: len(placed[number].target.ids))
    for begin in range(0, len(order), TOGETHER):
        numbers = order[begin : begin + TOGETHER]
        group = [placed[number] for number in numbers]
        reach = [encoder_reach(one.source, k, shape.encoder, shape.anchor) for one in group]
        limit = [cross_limit(one.source, one.rows, k, gamma, shape.anchor) for one in group]
        target = torch.from_numpy(pad([one.target.ids for one in group]))
        states = model(
            torch.from_numpy(pad([one.source.ids for one in group])),
            torch.from_numpy(pad(reach, 1)),
            target[:, :-1],
            torch.from_numpy(pad(limit, 1)),
            torch.tensor([one.shift for one in group]),
        )
        for row, (number, one) in enumerate(zip(numbers, group, strict=True)):
            end = len(one.target.ids) - 1
            scores = model.logits(states[row, end - one.labels : end]).log_softmax(-1)
            labels = target[row, end - one.labels + 1 : end + 1]
            found[number] = -float(scores.gather(1, labels[:, None]).sum())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="What history is worth to a trained run.")
    parser.add_argument("run", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--k", type=int, default=6)
    parser.add_argument("--history", type=int, default=60)
    parser.add_argument("--sentences", type=int, default=300)
    given = parser.parse_args()
    torch.set_num_threads(1)
    run = RunFolder(given.run)
    checkpoint = run.best() or run.newest()
    model = load_model(checkpoint).eval()
    gamma = load_json(given.run / "data.json")["gamma"]
    sentences = list(dev_sentences(given.corpus, run, given.history, given.sentences))
    pieces = np.array([one.alone.labels for one in sentences])
    alone = losses(model, [one.alone for one in sentences], given.k, gamma)
    print(f"{checkpoint}, {len(sentences)} sentences, k {given.k}, history {given.history}")
    print(f"alone   {alone.sum() / pieces.sum():.3f} nats a piece")
    for name in ("moved", "behind"):
        other = losses(model, [getattr(one, name) for one in sentences], given.k, gamma)
        error = (other - alone).std() * np.sqrt(len(alone)) / pieces.sum()
        more = (other - alone).sum() / pieces.sum()
        print(f"{name:7} {other.sum() / pieces.sum():.3f}, {more:+.3f} +- {error:.3f}")


if __name__ == "__main__":
    main()
