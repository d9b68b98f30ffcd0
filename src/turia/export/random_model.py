"""A model folder of a named size with random weights: its speed is that of a trained one, its words mean nothing.

Needs onnx, not torch. The language is made up: words of random syllables, as frequent as words are in texts (rank to
the power of -1), and subwords learnt from them, so that words have about as many pieces as in a real language.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from turia.config import ModelSettings, Preset
from turia.export.graph import save_graphs
from turia.export.tensors import graph_tensors, random_weights
from turia.runtime.folder import SUBWORDS_FILE, ModelConfig, write_config, write_sums
from turia.runtime.shape import Precision, shape_of
from turia.system.processes import in_another_process
from turia.text.subwords import Subwords, train_subwords

VOCABULARY = 8000
_WORDS = 30_000


def write_random_folder(
    folder: Path,
    preset: Preset,
    precision: Precision = "int8",
    languages: tuple[str, str] = ("xx", "xx"),
    vocabulary: int = VOCABULARY,
    max_positions: int = ModelSettings.max_positions,
) -> None:
    """Writes a model folder that loads like any other; `folder` exists and is empty. It has no segmenter."""
    subwords = _subwords(vocabulary)
    shape = shape_of(
        ModelSettings(preset=preset, max_positions=max_positions), len(subwords), len(subwords), joint=True
    )
    subwords.save(folder / SUBWORDS_FILE)
    save_graphs(shape, graph_tensors(shape, random_weights(shape), precision), precision, folder)
    write_config(ModelConfig(*languages, shape, precision, gamma=1.0, history=60), folder)
    write_sums(folder)


@contextmanager
def random_folder(preset: Preset, precision: Precision) -> Iterator[Path]:
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
