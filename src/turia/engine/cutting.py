"""Where the source is cut when a model without a segmenter writes a separator (docs/decisions/036). Pure functions.

All that was read since the last cut is the *active* source. Its first words have been translated, the others are of the
next sentence. Every place gets a score, from two sources: what was written says which words it translates, by attention
or by a model of the opposite direction; and its length says about how many words that are.

Letters: R source words read, T target words written. Scores are log-probabilities, [R]: of a cut after 1 .. R words.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from turia.engine.model import Attention

Scores = npt.NDArray[np.float64]

CUT_VERSION = 2
"""What sweeps note: with another one, sources may be cut elsewhere."""
LOOKED_AT = Attention()
"""The last layer, heads averaged. Other layers and heads say sooner which words of a draft will change, and less well
where a sentence ends; so this is not what policies look at."""
LENGTH_SPREAD = 0.7
"""The variance of the source's length, for each word that is expected. The dev sets of Europarl-ST have 0.3 (short
sentences) to 1.0 (long ones), in both directions."""
LEAST_SPREAD = 1.0
"""In words: also short sentences are longer or shorter."""
INSIDE, NEEDED = 0.02, 0.2
"""Shares of attention below which nothing is told apart: of a written word on what is before the cut, and of a word
before the cut among what a written word looks at. Words that nobody looks at are common, so they tell less:
with 0.1 cuts come too early, with 0.6 too late (`python -m benchmarks.cutting`)."""


def length_scores(read: int, written: int, gamma: float) -> Scores:
    """A Gaussian on the source's length, given the target's; gamma target words stand for a source word."""
    expected = written / gamma
    words = np.arange(1, read + 1)
    return np.asarray(-((words - expected) ** 2) / (2 * _variance(expected)))


def furthest(written: int, gamma: float) -> int:
    """Words beyond which nobody needs to look for the cut: four deviations more than are expected."""
    expected = written / gamma
    return math.ceil(expected + 4 * math.sqrt(_variance(expected)))


def _variance(expected: float) -> float:
    return LEAST_SPREAD + LENGTH_SPREAD * expected


def attention_scores(attention: npt.NDArray[np.floating], least_needed: float = NEEDED) -> Scores:
    """By [T, R], the attention of each written word to each word read: the written words must look at the words before
    the cut, and the words before the cut must be looked at.

    The first part falls with every word that looks beyond the cut, the second with every word before the cut that no
    written word needs. Their sum is largest behind the furthest word that is looked at.
    """
    shares = attention / np.maximum(attention.sum(axis=1, keepdims=True), 1e-9)
    inside = np.minimum(np.cumsum(shares, axis=1), 1.0)
    needed = np.minimum(shares.max(axis=0), 1.0)
    return np.asarray(np.log(INSIDE + inside).sum(axis=0) + np.cumsum(np.log(least_needed + needed)))


def best_cut(scores: Scores) -> int:
    """How many words are before the best cut, at least one."""
    return int(scores.argmax()) + 1
