"""States for heads are those that a stream shows them, and each has its label."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from turia.corpus.sentence_pairs import SentencePair
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.export.random_model import made_up_words
from turia.policy.act import Act
from turia.policy.base import State, head_values
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.training.policy.chunks import ChunkEnd
from turia.training.policy.states import lagged_states, lay_out_pair, source_states, target_states

WORDS = tuple(made_up_words()[20:29])
PAIR = SentencePair(WORDS[:5], WORDS[3:])
ENDS = [[ChunkEnd(2, 2), ChunkEnd(5, 6)]]


@pytest.fixture(scope="module")
def model(model_folder: Path) -> Model:
    return Translator.load(model_folder).model


def test_chunk_states_have_the_labels_of_their_words(model: Model) -> None:
    sample = lay_out_pair(PAIR, model)
    assert sample is not None
    assert sample.first_rows().tolist() == np.flatnonzero(np.diff(sample.rows.word, prepend=0))[:6].tolist()

    class First:
        """Draws first blocks of one word, and misses no chunk."""

        def integers(self, low: int, high: int | None = None) -> int:
            return 0 if high is None else low

    found = source_states(model, [sample], ENDS, 1, First())  # type: ignore[arg-type]
    # Words 2, 3 and 4, each about the word before: a chunk ends at the second. The last word closes the sentence.
    assert found.labels.tolist() == [False, True, False]
    assert found.states.shape == (3, 65)
    # Nothing is written before the first chunk is over; then it is.
    assert found.states[:, -1] * model.gamma == pytest.approx([2 * model.gamma, 3 * model.gamma, 4 * model.gamma - 2])
    found = target_states(model, [sample], ENDS, 1, _Never())  # type: ignore[arg-type]
    assert found.labels.tolist() == [False, True, False, False, False]
    # The first two rows see three source words, and the others all five.
    assert found.states[:, -1] == pytest.approx(
        [n - m / model.gamma for n, m in zip([3, 3, 5, 5, 5], range(1, 6), strict=True)]
    )


def test_chunks_may_be_joined_as_a_stream_does_that_missed_an_end(model: Model) -> None:
    sample = lay_out_pair(PAIR, model)
    assert sample is not None
    found = target_states(model, [sample], ENDS, 1, _Always())  # type: ignore[arg-type]
    assert not found.labels.any()
    assert found.states[0, -1] == pytest.approx(5 - 1 / model.gamma)


class _Never:
    def random(self) -> float:
        return 0.99


class _Always:
    def random(self) -> float:
        return 0.0


def test_lagged_states_are_those_that_a_stream_shows_a_head(model: Model) -> None:
    """A stream that writes its first word after two words, of what the model writes itself."""
    shown: list[State] = []

    def head(states: tuple[State, ...], /, *numbers: float) -> float:
        shown.append(head_values(states, *numbers))
        return float(len(shown) >= 2)

    watched = dataclasses.replace(model, heads={"act-0.2": head})
    stream = Stream(watched, GivenSegmenter([9, 5]), Settings(policy=Act(), history=0, gamma=1.0))
    # The second sentence begins as those do that heads learn from.
    for word in WORDS:
        stream.push(word)
    shown.clear()
    for word in PAIR.source[:2]:
        stream.push(word)
    sample = lay_out_pair(PAIR, model)
    assert sample is not None
    found = lagged_states(model, [sample], (1, 2), 1, _InOrder())  # type: ignore[arg-type]
    assert found.read.tolist() == [[1, 2, 5]]
    for lag, state in enumerate(shown[:2]):
        np.testing.assert_allclose(found.states[0, lag].astype(np.float32), state, atol=0.01)


class _InOrder:
    def permutation(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.arange(count)


def test_a_pair_that_does_not_fit_is_left_out(model: Model) -> None:
    assert lay_out_pair(SentencePair(WORDS * 200, WORDS), model) is None
