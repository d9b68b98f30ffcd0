"""What runtimes make of one and the same text: dev loss, and how far their logits are from those of float32.

    python -m benchmarks.kernels de-en --rounds 0 --loss --dev deen.dev.tsv.xz

Every runtime is fed the reference, so no choice of a piece changes what comes after it, as it does in a translation.
So two runtimes differ less by chance: on the dev sets of docs/bench-details.md the 95 % interval of their difference is
0.02 % of the loss to each side, and 1 % of BLEU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from turia.engine.backend import EncodeRequest, LookRequest
from turia.engine.model import Model
from turia.export.folder import write_folder
from turia.export.stored import read_weights
from turia.formats.documents import Document
from turia.policy.masks import cross_limit, encoder_reach
from turia.runtime.folder import load_folder
from turia.runtime.translator import Translator
from turia.text.layout import Ints, Sentence, closing_symbol, lay_out, target_rows
from turia.text.normalise import clean, normalise, part_joined_words
from turia.text.subwords import Subwords

SAMPLES = 1000
Floats = npt.NDArray[np.float64]


class Forced(NamedTuple):
    """A sentence pair, as training would lay it out."""

    source: Ints
    """[S]"""
    reach: Ints
    """[S] columns of the source that each position of it sees."""
    target: Ints
    """[R + 1] row r is fed piece r, and is to say piece r + 1."""
    limit: Ints
    """[R] columns of the source that each row sees."""


@contextmanager
def in_float32(folder: Path) -> Iterator[Translator]:
    """The same weights, as they were rounded, with nothing else rounded."""
    config = replace(load_folder(folder).config, precision="float32")
    with TemporaryDirectory(prefix="turia-") as place:
        write_folder(Path(place) / "float32", config, read_weights(folder), "", folder)
        yield Translator.load(Path(place) / "float32", kernels="onnx")


def forced_pairs(model: Model, documents: Sequence[Document], k: int) -> list[Forced]:
    """The pairs that have words on both sides and fit into the model, each without history, under wait-k. For models
    of Turia's own: others begin with the piece of a language."""
    assert model.source_piece is None
    assert model.target_piece is None
    found = []
    for document in documents:
        last = len(document.source) - 1
        for place, (said, written) in enumerate(zip(document.source, document.target, strict=True)):
            heard = normalise(part_joined_words(said)) if model.normalises else clean(said)
            sides = _pieces(model.source_subwords, heard), _pieces(model.target_subwords, clean(written))
            opens, closing = place == 0, closing_symbol(place == last)
            if not all(len(side.ids) for side in sides):
                continue
            source = lay_out([sides[0]], opens, closing, opening=model.source_opening)
            target = lay_out([sides[1]], opens, closing).ids
            if max(len(source.ids), len(target)) <= model.max_positions:
                reach = encoder_reach(source, k, model.encoder, model.anchor)
                limit = cross_limit(source, target_rows([sides[1]]), k, model.gamma, model.anchor)
                found.append(Forced(source.ids, reach, target, limit))
    return found


def _pieces(subwords: Subwords, words: Sequence[str]) -> Sentence:
    pieces = [subwords.encode_word(word) for word in words]
    ids = np.array([piece for word in pieces for piece in word], dtype=np.int64)
    return Sentence(ids, np.array([len(word) for word in pieces], dtype=np.int64))


def logits_of(model: Model, pair: Forced) -> Floats:
    """[R, V] of all rows."""
    (memory,) = model.backend.encode([EncodeRequest(None, pair.source, pair.reach)])
    (looks,) = model.backend.look([LookRequest(None, memory, pair.target[:-1], pair.limit)])
    return looks.logits.astype(np.float64)


def loss_of(logits: Floats, labels: Ints) -> float:
    """Cross-entropy in nats, over all rows."""
    most = logits.max(axis=1)
    total = most + np.log(np.exp(logits - most[:, None]).sum(axis=1))
    return float((total - logits[np.arange(len(labels)), labels]).sum())


def losses(models: Mapping[str, Model], reference: Model, pairs: Sequence[Forced]) -> dict[str, Any]:
    """Of each model and of the reference, nats a piece; and the errors of the models' logits against the reference's.
    `difference` is that of the second model from the first one, with its 95 % interval over resampled sentences."""
    pieces = np.array([len(pair.limit) for pair in pairs])
    every = {name: np.zeros(len(pairs)) for name in (*models, "float32")}
    sums = {name: np.zeros(3) for name in models}
    for number, pair in enumerate(pairs):
        labels, exact = pair.target[1:], logits_of(reference, pair)
        every["float32"][number] = loss_of(exact, labels)
        for name, model in models.items():
            logits = logits_of(model, pair)
            error, same = logits - exact, logits.argmax(axis=1) == exact.argmax(axis=1)
            every[name][number] = loss_of(logits, labels)
            sums[name] += error.mean(axis=1).sum(), (error**2).mean(axis=1).sum(), same.sum()
    means = {name: total / pieces.sum() for name, total in sums.items()}
    first, second = models
    more = every[second] - every[first]
    return {
        "sentences": len(pairs),
        "pieces": int(pieces.sum()),
        "loss": {name: float(each.sum() / pieces.sum()) for name, each in every.items()},
        "difference": float(more.sum() / pieces.sum()),
        "interval": resampled(more, pieces),
        "logits": {
            name: {"mean_error": float(mean), "rms_error": float(square**0.5), "same_best_piece": float(same)}
            for name, (mean, square, same) in means.items()
        },
    }


def resampled(more: Floats, pieces: Ints) -> tuple[float, float]:
    """95 % of the means a piece, over resampled sentences."""
    chosen = np.random.default_rng(1).integers(len(pieces), size=(SAMPLES, len(pieces)))
    low, high = np.quantile(more[chosen].sum(axis=1) / pieces[chosen].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)
