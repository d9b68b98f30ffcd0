"""A corpus of a toy language, large enough to be aligned."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from turia.export.random_model import made_up_words


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng, words = random.Random(1), made_up_words()[:30]
    path = tmp_path_factory.mktemp("toy") / "corpus.tsv"
    lines = []
    for _ in range(1100):
        sentence = rng.sample(words, rng.randint(3, 7))
        lines.append(f"1\t{' '.join(sentence)}\t{' '.join(sentence).capitalize()}.\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path
