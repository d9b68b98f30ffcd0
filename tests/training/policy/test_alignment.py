"""Word alignments by systran-align."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from turia.corpus.sentence_pairs import SentencePair
from turia.errors import InputError
from turia.training.policy.alignment import LEAST_PAIRS, align, align_once

WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]


def toy_pairs(count: int) -> list[SentencePair]:
    """Each word is its own translation, in capitals and with a comma; the order of the first two is turned round."""
    rng = random.Random(1)
    pairs = []
    for _ in range(count):
        source = rng.sample(WORDS, rng.randint(3, 6))
        target = [source[1], source[0], *source[2:]]
        pairs.append(SentencePair(tuple(source), tuple(f"{word.capitalize()}," for word in target)))
    return pairs


def test_the_words_of_a_toy_language_find_each_other() -> None:
    pairs = toy_pairs(LEAST_PAIRS)
    expected = [{(0, 1), (1, 0), *((n, n) for n in range(2, len(pair.source)))} for pair in pairs]
    found = align(pairs)
    assert sum(set(links) == links_of for links, links_of in zip(found, expected, strict=True)) > 0.95 * len(pairs)


def test_links_are_kept_for_the_same_pairs_and_found_anew_for_others(tmp_path: Path) -> None:
    pairs, kept = toy_pairs(LEAST_PAIRS), tmp_path / "alignments"
    found = align_once(pairs, kept)
    assert found == align(pairs)
    lines = kept.read_text(encoding="utf-8").split("\n")
    kept.write_text("\n".join([lines[0], "0-2 1-0", *lines[2:]]), encoding="utf-8")
    assert align_once(pairs, kept) == [[(0, 2), (1, 0)], *found[1:]]
    assert align_once(pairs[::-1], kept) == align(pairs[::-1])


def test_a_corpus_that_is_too_small_is_refused() -> None:
    with pytest.raises(InputError, match="train has 3 sentence pairs, too few to align their words; expected 1000"):
        align(toy_pairs(3))
