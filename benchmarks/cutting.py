"""How well the source is cut where there is no segmenter (docs/decisions/036): by length, attention, a reverse model.

    python -m benchmarks.cutting MODEL CORPUS [--reverse-model MODEL] [--pairs 100]

Each sentence of a corpus is followed by the first words of the next one, as in a stream that has read so much when a
separator is written. The reference is taken for what was written. Where should the source be cut? After the sentence.
Values of the two constants that matter are compared: what a word that nobody looks at costs, and how much of what the
reverse model would say in any case counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from turia.config import Corpus
from turia.corpus.sentence_pairs import SentencePair, sentence_pairs
from turia.engine.backend import EncodeRequest, LookRequest, run_steps
from turia.engine.cutting import LOOKED_AT, NEEDED, attention_scores, best_cut, furthest, length_scores
from turia.engine.model import Attention, Model
from turia.engine.reverse import CHANCE, reverse_scores
from turia.policy.masks import cross_limit, encoder_reach
from turia.runtime.translator import Translator
from turia.training.policy.states import lay_out_pair

K = 6
"""Words of the next sentence that have been read, and k of wait-k while the sentence was written."""
NEEDS = (0.1, NEEDED, 0.3, 0.4, 0.6)
CHANCES = (0.5, 0.7, CHANCE, 0.8, 0.9, 1.0)


def looks(model: Model, pair: SentencePair, attention: Attention) -> npt.NDArray[np.float32] | None:
    """[T, R] attention of each target word on each source word; None if the pair does not fit into the model."""
    sample = lay_out_pair(pair, model)
    if sample is None:
        return None
    window, rows = sample.window, sample.rows
    reach = encoder_reach(window, K, model.encoder, model.anchor)
    (memory,) = model.backend.encode([EncodeRequest(None, window.ids, reach)])
    limits = cross_limit(window, rows, K, model.gamma, model.anchor)
    (found,) = model.backend.look([LookRequest(None, memory, sample.target[:-1], limits)])
    first = sample.first_rows()
    seen = attention.of(found.attention)[: len(rows.word) - 1]  # the last row writes the closing symbol
    words = np.add.reduceat(seen, first) / np.diff(first, append=len(seen))[:, None]
    by_word: npt.NDArray[np.float32] = np.add.reduceat(words, np.append(1, window.word_ends[:-1]), axis=1)
    return by_word


def shown(name: str, errors: Sequence[int]) -> str:
    off = np.array(errors)
    exact, near = np.mean(off == 0), np.mean(abs(off) <= 1)
    return f"{name:28} exact {exact:.2f}, within a word {near:.2f}, off by {abs(off).mean():.2f} ({off.mean():+.2f})"


def figures(model: Model, reverse: Model | None, pairs: Sequence[SentencePair]) -> Iterator[str]:
    """How far the cuts are from the sentence ends, in words; too early is negative."""
    own = model.attention
    errors: dict[str, list[int]] = {}
    for (source, target), (following, _) in pairwise(pairs):
        read = (*source, *following[:K])
        lengths = length_scores(len(read), len(target), model.gamma)
        found = {"length alone": lengths}
        seen = looks(model, SentencePair(read, target), LOOKED_AT)
        theirs = looks(model, SentencePair(read, target), own)
        if seen is None or theirs is None:
            continue
        found |= {f"attention, needed {value:g}": attention_scores(seen, value) + lengths for value in NEEDS}
        found[f"attention {own.layer}:{own.head}"] = attention_scores(theirs) + lengths
        if reverse is not None:
            heard = read[: furthest(len(target), model.gamma)]
            for value in CHANCES:
                scores = run_steps(reverse_scores(reverse, target, heard, value), reverse.backend)
                found[f"reverse, chance {value:g}"] = scores + lengths[: len(scores)]
        for name, scores in found.items():
            errors.setdefault(name, []).append(best_cut(scores) - len(source))
    yield f"{len(errors['length alone'])} sentences"
    yield from (shown(name, off) for name, off in errors.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--reverse-model")
    parser.add_argument("--pairs", type=int, default=100)
    chosen = parser.parse_args()
    model = Translator.load(chosen.model).model
    reverse = None if chosen.reverse_model is None else Translator.load(chosen.reverse_model).model
    found = sentence_pairs([Corpus(path=chosen.corpus)], model.languages, 10**6, max_words=45, least_words=3)
    for line in figures(model, reverse, list(islice(found, chosen.pairs + 1))):
        print(line)


if __name__ == "__main__":
    main()
