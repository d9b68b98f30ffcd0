"""What history is worth to a trained run: the loss of the same dev sentences, placed in three ways.

    python benchmarks/history.py RUN CORPUS [--columns de,en] [--k 6] [--history 60] [--sentences 300]

Alone; alone, but as many positions further on as a history would push it, of which nothing is seen; and behind that
history, source and reference. The second tells what standing further on costs, the third what seeing the history wins
back. The text is read as `turia prepare` reads a dev set. Teacher forcing, only sentences that have a history, nats a
piece with the closing symbol, differences with their standard error. Needs the train extra. What history is worth in
BLEU tells recipes/sweep-history-de-en.toml.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from turia.config import Corpus
from turia.corpus.batches import pad
from turia.corpus.chunks import Cleaner, Pair, adjacent_runs
from turia.corpus.shards import load_subwords
from turia.corpus.windows import Lengths, fits, sliding
from turia.formats.documents import read
from turia.model.checkpoint import load_json, load_model
from turia.model.transformer import Transformer
from turia.policy.masks import cross_limit, encoder_reach
from turia.runtime.folder import AS_GIVEN
from turia.runtime.shape import Shape
from turia.text.layout import Rows, Sentence, Window, closing_symbol, lay_out, target_rows
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


class Encoded(NamedTuple):
    """A pair in pieces."""

    pair: Pair
    source: Sentence
    target: Sentence

    @property
    def lengths(self) -> Lengths:
        words = len(self.source.pieces), len(self.target.pieces)
        return Lengths(*words, len(self.source.ids), len(self.target.ids))


def placings(pairs: Sequence[Encoded], source_opening: bool) -> Placings:
    """The last one of these pairs; those before it are its history."""
    last = pairs[-1]
    closing = closing_symbol(last.pair.place == last.pair.length - 1)

    def place(shown: Sequence[Encoded], shift: tuple[int, int]) -> Placed:
        opens = shown[0].pair.place == 0
        target = [one.target for one in shown]
        return Placed(
            lay_out([one.source for one in shown], opens, closing, source_opening),
            lay_out(target, opens, closing),
            target_rows(target),
            shift,
            len(last.target.ids) + 1,
        )

    # A separator behind each sentence of the history.
    shift = (
        sum(len(one.source.ids) + 1 for one in pairs[:-1]),
        sum(len(one.target.ids) + 1 for one in pairs[:-1]),
    )
    return Placings(place(pairs[-1:], (0, 0)), place(pairs[-1:], shift), place(pairs, (0, 0)))


def dev_sentences(corpus: Corpus, run: RunFolder, shape: Shape, history: int, sentences: int) -> Iterator[Placings]:
    """Those of the first `sentences` pairs that have a history."""
    recipe = run.recipe()
    languages = recipe.source_language, recipe.target_language
    source, target = load_subwords(run.path)
    cleaner = Cleaner(languages, None, None, written=run.normalisation() == AS_GIVEN)
    pairs = islice(cleaner.pairs(read(corpus, *languages), Counter()), sentences)
    every = (Encoded(pair, _sentence(source, pair.source), _sentence(target, pair.target)) for pair in pairs)
    rows = [one for one in every if fits([one.lengths], shape.max_positions)]
    for begin, end in adjacent_runs([one.pair for one in rows]):
        together = rows[begin:end]
        for first, last in sliding([one.lengths for one in together], history, shape.max_positions):
            if first < last:
                yield placings(together[first : last + 1], shape.source_opening)


def _sentence(subwords: Subwords, text: str) -> Sentence:
    pieces = [subwords.encode_word(word) for word in text.split(" ")]
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
    parser.add_argument("--columns", default="de,en", help="languages of the columns after the document")
    parser.add_argument("--k", type=int, default=6)
    parser.add_argument("--history", type=int, default=60)
    parser.add_argument("--sentences", type=int, default=300)
    given = parser.parse_args()
    torch.set_num_threads(1)
    run = RunFolder(given.run)
    checkpoint = run.best() or run.newest()
    model = load_model(checkpoint).eval()
    gamma = load_json(given.run / "data.json")["gamma"]
    corpus = Corpus(given.corpus, columns=tuple(given.columns.split(",")))
    sentences = list(dev_sentences(corpus, run, model.shape, given.history, given.sentences))
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
