"""Which cross-attention of a model tells best where a draft will change: a layer and head for `alignatt` and `edatt`.

    python -m benchmarks.attention MODEL CORPUS [--sentences 40]

Drafts are made at every source word of dev sentences, with nothing committed. A drafted word is *stable* if the draft
of the last source word has it in the same place. Attention on the last two source words should show the unstable ones:
AUC is the probability that an unstable word has more of it than a stable one (0.5 is chance). Every layer is measured
with its heads averaged and head by head. The best one is stored with the model:

    turia export MODEL NEW-FOLDER --attention LAYER          (or LAYER:HEAD)

It also measures what the attention costs: a decoder step of one row with it, and without.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from turia.config import Corpus
from turia.engine.backend import Backend, DecodeRequest, EncodeRequest, LookRequest
from turia.engine.model import Attention, Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.formats.documents import read
from turia.policy.base import Draft, LookingPolicy, Memory, Situation
from turia.policy.waitk import MOST_WORDS
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter

Floats = npt.NDArray[np.float32]
LAST_WORDS = 2


class Every(Attention):
    """All layers and heads at once."""

    def of(self, every: Floats, layer: int | None = None) -> Floats:
        """[L, 1 + H, S]: the mean over the heads first."""
        return np.concatenate([every.mean(axis=1, keepdims=True), every], axis=1)


@dataclass(frozen=True)
class Watch(LookingPolicy):
    """Commits nothing, and remembers the drafts of a sentence: of each word its text and its attention at the end."""

    name: ClassVar[str] = "watch"
    attention: ClassVar[bool] = True
    seen: list[list[tuple[str, Floats]]] = field(default_factory=list)

    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        words = []
        for word in draft.words:
            assert word.attention is not None
            words.append((word.text, word.attention[..., -LAST_WORDS:].sum(axis=-1)))
        self.seen.append(words)
        return 0


def watched(model: Model, sentences: list[list[str]]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """[N, L, 1 + H] attention of each drafted word on the last source words, and whether the word changed later."""
    scores: list[Floats] = []
    changed: list[bool] = []
    for words in sentences:
        policy = Watch()
        settings = Settings(policy=policy, gamma=model.gamma, history=0, max_lag=MOST_WORDS)
        stream = Stream(model, GivenSegmenter([len(words) + 1]), settings)
        for word in words:
            stream.push(word)
        *drafts, last = policy.seen or [[]]
        for draft in drafts:
            for place, (text, score) in enumerate(draft[: len(last)]):
                scores.append(score)
                changed.append(text != last[place][0])
    return np.array(scores), np.array(changed)


def auc(scores: Floats, positive: npt.NDArray[np.bool_]) -> float:
    """How often a positive one has the higher score than a negative one; equal scores count half."""
    above, below = np.sort(scores[~positive]), scores[positive]
    if not len(above) or not len(below):
        return 0.5
    smaller = np.searchsorted(above, below, side="left") + np.searchsorted(above, below, side="right")
    return float(smaller.sum() / (2 * len(above) * len(below)))


def cost(backend: Backend, steps: int = 200) -> tuple[float, float]:
    """Milliseconds of a decoder step behind 30 source positions and 20 rows: without attention, and with it."""
    ids = np.full(30, 10, dtype=np.int64)
    (memory,) = backend.encode([EncodeRequest(None, ids, np.full(30, 30))])
    one, all_of_it = ids[:1], np.array([30])
    ((state, _),) = backend.decode([DecodeRequest(None, memory, ids[:20], np.full(20, 30))])
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(steps):
        # In turn: the speed of a machine changes.
        began = time.process_time()
        backend.decode([DecodeRequest(state, memory, one, all_of_it)])
        between = time.process_time()
        backend.look([LookRequest(state, memory, one, all_of_it)])
        times[0].append(between - began)
        times[1].append(time.process_time() - between)
    plain, looking = (1000 * float(np.quantile(own, 0.25)) for own in times)
    return plain, looking


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", help="a model's name or folder, which gives attention")
    parser.add_argument("corpus", type=Path, help="dev set: a tsv file, plain or compressed")
    parser.add_argument("--sentences", type=int, default=40)
    arguments = parser.parse_args()
    translator = Translator.load(arguments.model)
    model = translator.model
    documents = read(Corpus(path=arguments.corpus), *model.languages, held_out=True)
    every = [line.split() for document in documents for line in document.source]
    sentences = [words for words in every if 8 <= len(words) <= 40][: arguments.sentences]
    scores, changed = watched(replace(model, attention=Every()), sentences)
    print(f"{len(sentences)} sentences, {len(scores)} drafted words, {changed.mean():.0%} of them changed later")
    print("layer   head    AUC")
    found: dict[str, float] = {}
    for layer, column in product(range(scores.shape[1]), range(scores.shape[2])):
        named = f"{layer}:{column - 1}" if column else f"{layer}"
        found[named] = auc(scores[:, layer, column], changed)
        print(f"{layer:5}   {column - 1 if column else 'mean':>4}   {found[named]:.3f}")
    print(f"\nturia export {arguments.model} NEW-FOLDER --attention {max(found, key=lambda one: found[one])}")
    plain, looking = cost(model.backend)
    print(f"a decoder step: {plain:.2f} ms; with attention: {looking:.2f} ms, {looking / plain:.2f} times as long")


if __name__ == "__main__":
    main()
