"""Rolling out over rows is the online segmenter, many words at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.segmentation import run
from tests.fixtures.tiny_segmenter import WORDS
from turia.corpus.boundaries import LabelledStream, Samples, word_stream
from turia.segmenter.classifier import Classifier, ClassifierSegmenter
from turia.segmenter.online import Decision
from turia.segmenter.window import PAST
from turia.training.segmenter.rollout import own_samples, rollout


def stream_of_chance(words: int) -> list[list[str]]:
    rng = np.random.default_rng(3)
    return [rng.choice(WORDS, rng.integers(1, 12)).tolist() for _ in range(words // 6)]


@pytest.mark.parametrize("w", [0, 1, 4])
def test_a_row_decides_as_the_online_segmenter_does(exported: Path, w: int) -> None:
    classifier = Classifier(exported, w)
    sentences = stream_of_chance(300)
    words = [word for sentence in sentences for word in sentence]
    samples = Samples(word_stream([sentences], PAST).encode(classifier.vocabulary), PAST, w)
    threshold = classifier.decision.threshold
    starts = samples.indices[:1]
    found = rollout(
        samples,
        starts,
        len(words),
        np.array([threshold]),
        lambda ids: classifier.probabilities(ids).astype(np.float64),
    )
    online = run(ClassifierSegmenter(classifier, max_words=None, decision=Decision(threshold)), words)
    decided = found[0] >= threshold
    assert 0 < decided.sum() < len(words)
    # The stream ends a sentence at its last word, whatever the classifier says.
    assert decided[:-1].tolist() == online[:-1].tolist()


def test_own_samples_show_own_boundaries_and_learn_the_true_ones(exported: Path) -> None:
    vocabulary = Classifier(exported, 0).vocabulary
    samples = Samples(word_stream([stream_of_chance(400)], PAST).encode(vocabulary), PAST, 2)
    ended = np.random.default_rng(4).random((2, 100)) < 0.2
    starts = samples.indices[[50, 200]]
    own = own_samples(samples, starts, ended)

    positions = (starts[:, None] + np.arange(100)).ravel()
    np.testing.assert_array_equal(own.labels(own.indices), samples.labels(positions))
    shown = samples.ends_at(np.arange(samples.indices[-1] + PAST + 1)).copy()
    shown[positions] = ended.ravel()
    words = samples.words_at(np.arange(len(shown))).astype(np.uint16)
    np.testing.assert_array_equal(own.ids(own.indices), Samples(LabelledStream(words, shown), PAST, 2).ids(positions))
    assert set(own.splits) <= set(own.indices)
