"""What the network that reads a stream once is trained on: rows that begin with a sentence, and words that count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from turia.config import Corpus, SegmenterData, SegmenterModel, SegmenterRecipe, SegmenterTraining
from turia.corpus.boundaries import LabelledStream
from turia.training.segmenter.by_stream import ROW_WORDS, StreamMethod, sentence_starts, texts
from turia.training.segmenter.learner import Learner

STREAM = LabelledStream(
    np.array([0, 0, 4, 5, 6, 7, 0, 0, 8, 9, 0], dtype=np.uint16),
    np.array([0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0], dtype=np.bool_),
)
"""Two texts: "4 5. 6 7." and "8 9."."""


def method(**training: float) -> StreamMethod:
    corpora = (Corpus(path=Path("x.tsv")),)
    model = SegmenterModel("stream", windows=(1,), embedding=4, hidden=4, feed_forward=4, dropout=0.0)
    settings = SegmenterTraining(**{"batch": 2 * ROW_WORDS, "samples_per_epoch": 1000} | training)  # type: ignore[arg-type]
    recipe = SegmenterRecipe("de", SegmenterData(corpora, corpora), model=model, training=settings)
    return StreamMethod(recipe, 10, STREAM, STREAM)


def learner_of(one: StreamMethod) -> Learner:
    return Learner(one.network, one.settings, 1, one.first_threshold, {})


def test_texts_lie_between_the_padding() -> None:
    assert texts(STREAM) == [(2, 6), (8, 10)]
    whole = LabelledStream(STREAM.words[2:6], STREAM.ends[2:6])
    assert texts(whole) == [(0, 4)]


def test_sentences_start_after_an_end_or_after_padding() -> None:
    assert sentence_starts(STREAM).tolist() == [2, 4, 8]


def test_a_batch_has_rows_behind_a_boundary() -> None:
    ids, ends = method()._batch(np.random.default_rng(1))
    assert ids.shape == (2, 1 + ROW_WORDS)
    assert ends.shape == (2, ROW_WORDS)
    assert ids[:, 0].tolist() == [0, 0]
    assert set(ids[:, 1].tolist()) <= {4, 6, 8}
    for row, of_row in zip(ids.tolist(), ends.tolist(), strict=True):
        assert {word for word, end in zip(row[1:], of_row, strict=True) if end} <= {5, 7, 9}


def test_only_words_with_all_their_future_words_count() -> None:
    """With w = 1 the last word of a text has no word after it. Its label changes the loss of w = 0 alone."""
    torch.manual_seed(1)
    one = method()
    one.network.windows = (1,)
    ids = torch.tensor([[0, 4, 5, 6, 7, 0, 0]])
    seen = []
    for last in (0.0, 1.0):
        ends = torch.tensor([[0.0, 1.0, 0.0, last, 0.0, 0.0]])
        one._batch = lambda rng, ends=ends: (ids, ends)  # type: ignore[method-assign,misc]
        one.network.forward = lambda ids: [logits[:, :] for logits in (torch.zeros(1, 6), torch.zeros(1, 5))]  # type: ignore[method-assign]
        seen.append(one.loss(learner_of(one)).item())
    assert seen[0] == seen[1] == np.float32(np.log(2))
    one.network.forward = lambda ids: [torch.full((1, 6), 3.0), torch.zeros(1, 5)]  # type: ignore[method-assign]
    one._batch = lambda rng: (ids, torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0, 0.0]]))  # type: ignore[method-assign]
    two_of_four = float(np.log1p(np.exp(-3.0)) * 0.5 + np.log1p(np.exp(3.0)) * 0.5)
    assert one.loss(learner_of(one)).item() == np.float32((two_of_four + np.log(2)) / 2)


def test_the_rate_falls_in_the_last_epochs() -> None:
    one = method(epochs=10, learning_rate=1.0)
    learner, rates = learner_of(one), []
    for learner.epochs in range(10):
        one.begin_epoch(learner)
        rates.append(round(learner.rate, 3))
    assert rates == [1.0, 1.0, 1.0, 1.0, 1.0, 0.833, 0.667, 0.5, 0.333, 0.167]


def test_dev_is_read_text_by_text() -> None:
    one = method()
    found = one._on_dev()
    assert [len(probabilities) for probabilities, _ in found] == [6, 4]
    assert [expected.tolist() for _, expected in found] == [
        [False, True, False, True, False, True],
        [False, True, False, False],
    ]
    first = one.network.probabilities(torch.tensor([0, 8, 9]))
    np.testing.assert_array_equal(found[1][0][3:], first[1])
