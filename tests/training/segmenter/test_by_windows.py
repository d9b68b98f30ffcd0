"""Shares of sentence ends, and where thresholds begin. That it learns is tested in test_training.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from turia.config import Corpus, SegmenterData, SegmenterModel, SegmenterRecipe, SegmenterTraining
from turia.corpus.boundaries import LabelledStream
from turia.segmenter.window import PAST
from turia.training.segmenter.by_windows import WindowMethod


def method(**training: object) -> WindowMethod:
    """A text of 40 words, of which 4 end a sentence."""
    words = np.concatenate([np.zeros(PAST), np.tile(np.arange(3, 13), 4), np.zeros(PAST)]).astype(np.uint16)
    corpora = (Corpus(path=Path("x.tsv")),)
    recipe = SegmenterRecipe(
        "de",
        SegmenterData(corpora, corpora),
        model=SegmenterModel(windows=(0, 1), embedding=4, hidden=4, feed_forward=4),
        training=SegmenterTraining(**training),  # type: ignore[arg-type]
    )
    stream = LabelledStream(words, words == 12)
    return WindowMethod(recipe, 13, stream, stream)


def test_drawn_samples_end_more_often_than_the_words_of_the_corpus() -> None:
    one = method(split_share=0.3)
    assert one.true_share == pytest.approx(0.1)
    assert one.drawn_share == pytest.approx(0.3 + 0.7 * 0.1)


def test_the_first_threshold_is_a_likely_one_in_the_units_of_what_is_drawn() -> None:
    assert method(decision="argmax").first_threshold == 0.5
    odds = 0.3 / 0.7 * (0.37 / 0.1) / (0.63 / 0.9)
    assert method(split_share=0.3).first_threshold == pytest.approx(odds / (1 + odds))


def test_an_epoch_has_as_many_steps_as_its_samples_fill() -> None:
    assert method(samples_per_epoch=1000, batch=300).steps == 3
    assert method(samples_per_epoch=10, batch=300).steps == 1
