"""What the network that reads a stream once is trained on: rows that begin with a sentence, and words that count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from turia.config import Corpus, SegmenterData, SegmenterModel, SegmenterRecipe, SegmenterTraining
from turia.corpus.boundaries import LabelledStream
from turia.errors import InputError
from turia.training.segmenter.by_stream import ROW_WORDS, StreamMethod, sentence_starts, texts
from turia.training.segmenter.learner import Learner

STREAM = LabelledStream(
    np.array([0, 0, 4, 5, 6, 7, 0, 0, 8, 9, 0], dtype=np.uint16),
    np.array([0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0], dtype=np.bool_),
)
"""Two texts: "4 5. 6 7." and "8 9."."""


def method(window: int = 1, **training: float) -> StreamMethod:
    corpora = (Corpus(path=Path("x.tsv")),)
    model = SegmenterModel("stream", windows=(window,), embedding=4, hidden=4, feed_forward=4, dropout=0.0)
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
    """The text has four words. With w = 1 the last of them has no word after it; behind it is padding."""
    one = method()
    ids, ends = torch.tensor([[0, 4, 5, 6, 7, 0, 0]]), torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0, 0.0]])
    one._batch = lambda rng: (ids, ends)  # type: ignore[method-assign]
    logits = [torch.tensor([[1.0, 2.0, 3.0, 4.0, 50.0, -50.0]]), torch.tensor([[1.5, 2.5, 3.5, 40.0, -40.0]])]
    one.network.forward = lambda ids: logits  # type: ignore[method-assign]
    of_w0 = np.logaddexp(0, [1.0, -2.0, 3.0, -4.0]).mean()
    of_w1 = np.logaddexp(0, [1.5, -2.5, 3.5]).mean()
    assert one.loss(learner_of(one)).item() == pytest.approx((of_w0 + of_w1) / 2)


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


def test_texts_shorter_than_a_window_have_no_answers_there() -> None:
    one = method(window=3)
    assert [len(probabilities) for probabilities, _ in one._on_dev()] == [6, 4, 2, 1]
    assert [expected.tolist() for _, expected in one._on_dev()][2:] == [[False, True], [False]]
    assert set(one.dev_scores(learner_of(one))) == {0, 1, 2, 3}
    with pytest.raises(InputError, match="the dev corpora hold no text of more than 4 words"):
        method(window=4)


def test_a_long_text_is_read_in_parts_with_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    network = method(window=3).network
    ids = torch.from_numpy(np.append(0, np.random.default_rng(1).integers(3, 10, 23)))
    whole = network.eval()(ids[None])
    for words in (1, 2, 5, 22, 23, 100):
        monkeypatch.setattr("turia.training.segmenter.by_stream._DEV_WORDS", words)
        for found, logits in zip(network.probabilities(ids), whole, strict=True):
            np.testing.assert_allclose(found, logits[0].detach().sigmoid().numpy(), atol=1e-6)
