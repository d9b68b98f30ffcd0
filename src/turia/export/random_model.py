"""A model folder of a named size with random weights: its speed is that of a trained one, its words mean nothing.

Needs onnx, not torch. The language is made up: words of random syllables, as frequent as words are in texts (rank to
the power of -1), and subwords learnt from them, so that words have about as many pieces as in a real language. Sizes
are those of recipes, or those of models that other people made for whole sentences.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

from sentencepiece import sentencepiece_model_pb2 as spm

from turia.config import ModelSettings, Preset
from turia.export.graph import save_graphs
from turia.export.tensors import graph_tensors, random_weights
from turia.runtime.folder import SUBWORDS_FILE, ModelConfig, write_config, write_sums
from turia.runtime.shape import Precision, Shape, shape_of
from turia.system.processes import in_another_process
from turia.text.subwords import Subwords, train_subwords

VOCABULARY = 8000
_WORDS = 30_000
OfflineSize = Literal["75M", "230M", "600M"]
"""OPUS-MT, OPUS-MT big and NLLB-200 distilled, by their weights."""
Size = Preset | OfflineSize
_OFFLINE: dict[OfflineSize, tuple[int, int, int, int, int, int]] = {
    # width, feed forward, heads, layers of either side, pieces, positions
    "75M": (512, 2048, 8, 6, 58_101, 512),
    "230M": (1024, 4096, 16, 6, 54_000, 1024),
    "600M": (1024, 4096, 16, 12, 256_206, 1024),
}


def offline_shape(size: OfflineSize) -> Shape:
    """The shape of a model of this size that was made for whole sentences."""
    width, feed_forward, heads, layers, pieces, positions = _OFFLINE[size]
    return Shape(
        width, feed_forward, heads, layers, layers, pieces, pieces, joint=True, encoder="bidirectional",
        anchor="sentence", pre_norm=True, max_positions=positions, logits_bias=True,
    )  # fmt: skip


def is_offline(size: str) -> bool:
    return size in get_args(OfflineSize)


def write_random_folder(
    folder: Path,
    preset: Size,
    precision: Precision = "int8",
    languages: tuple[str, str] = ("xx", "xx"),
    vocabulary: int = VOCABULARY,
    max_positions: int = ModelSettings.max_positions,
) -> None:
    """Writes a model folder that loads like any other; `folder` exists and is empty. It has no segmenter.

    `vocabulary` and `max_positions` are for the sizes of recipes; the others have their own.
    """
    subwords = _subwords(vocabulary)
    if is_offline(preset):
        shape = offline_shape(preset)  # type: ignore[arg-type]  # mypy does not narrow by the function
        subwords = _padded(subwords, shape.target_vocabulary)
        config = ModelConfig(*languages, shape, precision, gamma=1.0, history=0, closes_prefixes=True)
    else:
        settings = ModelSettings(preset=preset, max_positions=max_positions)  # type: ignore[arg-type]  # as above
        shape = shape_of(settings, len(subwords), len(subwords), joint=True)
        config = ModelConfig(*languages, shape, precision, gamma=1.0, history=60)
    subwords.save(folder / SUBWORDS_FILE)
    save_graphs(shape, graph_tensors(shape, random_weights(shape), precision), precision, folder)
    write_config(config, folder)
    write_sums(folder)


@contextmanager
def random_folder(preset: Size, precision: Precision) -> Iterator[Path]:
    """Such a folder for a while. Another process makes it, so that its memory is not counted to this one."""
    with TemporaryDirectory(prefix="turia-") as name:
        in_another_process(write_random_folder, Path(name), preset, precision)
        yield Path(name)


@cache
def made_up_words() -> list[str]:
    """Different words, the most frequent (and shortest) first."""
    chance = random.Random(1)
    onsets = ["", *"bdfghjklmnprstvwz", "ch", "st", "br", "gr", "sch", "tr", "kl"]
    vowels = [*"aeiou", "ei", "au", "ie"]
    codas = ["", "", "n", "r", "s", "t", "l", "m", "nd", "ng", "st"]
    words: dict[str, None] = {}
    while len(words) < _WORDS:
        syllables = 1 + min(3, len(words) * 4 // _WORDS + chance.randrange(2))
        words["".join(chance.choice(part) for _ in range(syllables) for part in (onsets, vowels, codas))] = None
    return list(words)


@cache
def _subwords(vocabulary: int) -> Subwords:
    counts = {word: 1 + 1_000_000 // rank for rank, word in enumerate(made_up_words(), start=1)}
    return train_subwords(counts, vocabulary)


def _padded(subwords: Subwords, pieces: int) -> Subwords:
    """The same with so many pieces: the others are never used, but scores are computed for them."""
    model = spm.ModelProto()  # type: ignore[attr-defined]  # protobuf makes it when it is imported
    model.ParseFromString(subwords.model)
    for number in range(len(model.pieces), pieces):
        model.pieces.add(piece=f"<none {number}>", type=model.SentencePiece.CONTROL)
    model.trainer_spec.vocab_size = pieces
    return Subwords(model.SerializeToString())
