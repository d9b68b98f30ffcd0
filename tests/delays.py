"""The delays that METHOD section 5 asks for, as a formula: what the running policy is held against."""

from __future__ import annotations

from turia.policy.waitk import Rounding, words_needed


def stream_delay(
    t: int,
    k: int,
    start: int,
    sentence_words: int,
    stream_words: int,
    gamma: float = 1.0,
    window: int = 0,
    rounding: Rounding = "floor",
) -> int:
    """d = min(|X|, w + A[n] + min(g(t), |x_n|)): the G(i) of Eq. 5, behind a segmenter.

    `start` is A[n], `stream_words` is |X|, `window` is w, the segmenter's future words.
    """
    return min(stream_words, window + start + min(words_needed(t, k, gamma, rounding), sentence_words))
