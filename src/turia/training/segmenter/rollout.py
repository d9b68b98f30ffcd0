"""Many stretches of a stream at once, segmented with the segmenter's own past boundaries. No torch.

In training samples the past boundaries are the true ones; online they are the segmenter's own, and one
mistake misleads the next decisions. Rolling out shows what really happens, and gives samples with such a
past to learn from.

Letters: R rows, T words of a row, P past slots, F future slots, L = P + 1 + F.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from turia.corpus.boundaries import Flags, Indices, LabelledStream, Samples
from turia.text.vocabulary import BOUNDARY

Ask = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float64]]
"""Windows of ids [R, L] → probability [R] that a sentence ends there."""


def rollout(
    samples: Samples, starts: Indices, length: int, thresholds: npt.NDArray[np.float64], ask: Ask
) -> npt.NDArray[np.float64]:
    """[R, T] probabilities of a sentence end at the `length` words from each of `starts` [R] on.

    Row r begins with the true past and goes on with its own: a sentence ends where the probability reaches
    `thresholds[r]`. Padding between streams has probability 0.
    """
    past = samples.ids(starts)[:, : samples.past]
    words = samples.words_at(starts[:, None] + np.arange(length + samples.future))
    probabilities = np.zeros((len(starts), length))
    for step in range(length):
        word = words[:, step]
        asked = ask(np.concatenate((past, words[:, step : step + 1 + samples.future]), axis=1))
        probabilities[:, step] = np.where(word == BOUNDARY, 0.0, asked)
        past = _shifted(past, word)
        ended = probabilities[:, step] >= thresholds
        past[ended] = _shifted(past[ended], BOUNDARY)
    return probabilities


def own_samples(samples: Samples, starts: Indices, ended: Flags) -> Samples:
    """Samples of the rows at `starts` [R] whose past boundaries are where `ended` [R, T] says; labels stay true."""
    rows, length = ended.shape
    before, after = samples.past, samples.future
    positions = starts[:, None] + np.arange(-before, length + after)
    inside = np.zeros(positions.shape, dtype=np.bool_)
    inside[:, before : before + length] = True
    true_ends = samples.ends_at(positions)
    own_ends = true_ends.copy()
    own_ends[:, before : before + length] = ended
    stream = LabelledStream(samples.words_at(positions).ravel().astype(np.uint16), true_ends.ravel())
    assert len(stream.words) == rows * (before + length + after)
    return Samples(stream, before, after, past_ends=own_ends.ravel(), usable=inside.ravel())


def _shifted(past: npt.NDArray[np.int64], newest: npt.NDArray[np.int64] | int) -> npt.NDArray[np.int64]:
    """The past [R, P] with `newest` as its last slot and the oldest slot gone."""
    moved = np.roll(past, -1, axis=1)
    moved[:, -1] = newest
    return moved
