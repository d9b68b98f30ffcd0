"""The test at equal latency: its counts give sacrebleu's BLEU, and it tells a difference from chance."""

from __future__ import annotations

import random

import pytest
import sacrebleu

from turia.evaluation.bootstrap import bleu_of, difference_at_equal_latency, sentence_counts
from turia.evaluation.quality import bleu

WORDS = [f"word{number}" for number in range(50)]


def text(seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=12)) for _ in range(60)]


def spoilt(lines: list[str], share: float, seed: int) -> list[str]:
    """Every word is another one with this probability."""
    chance = random.Random(seed)
    return [" ".join("?" if chance.random() < share else word for word in line.split()) for line in lines]


def test_the_counts_of_sentences_add_up_to_the_bleu_of_sacrebleu() -> None:
    references = text(1)
    hypotheses = spoilt(references, 0.3, 2)
    expected = sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert bleu_of(sentence_counts(hypotheses, references).sum(axis=0)) == pytest.approx(expected)


def test_the_bleu_of_counts_without_longer_matches_is_smoothed_as_that_of_a_report() -> None:
    hypotheses, references = ["a b c d e"], ["a b x d e"]
    counts = sentence_counts(hypotheses, references).sum(axis=0)
    assert bleu_of(counts) == pytest.approx(bleu(hypotheses, references).value) == pytest.approx(30.2138, abs=1e-4)


def test_a_point_is_compared_with_the_line_between_its_neighbours() -> None:
    references = text(1)
    low, high = (sentence_counts(spoilt(references, share, 3), references) for share in (0.4, 0.2))
    below, above = bleu_of(low.sum(axis=0)), bleu_of(high.sum(axis=0))
    difference, _ = difference_at_equal_latency(high, low, high, 0.25, 50)
    assert difference == pytest.approx(0.75 * (above - below))
    assert difference_at_equal_latency(high, low, high, 1.0, 50) == (0.0, 1.0)


def test_p_is_small_for_a_large_difference_and_not_for_a_small_one() -> None:
    references = text(1)
    base, better, alike = (
        sentence_counts(spoilt(references, share, seed), references) for share, seed in ((0.4, 3), (0.2, 4), (0.4, 5))
    )
    assert difference_at_equal_latency(better, base, base, 0.5, 200)[1] < 0.01
    assert difference_at_equal_latency(alike, base, base, 0.5, 200)[1] > 0.05
