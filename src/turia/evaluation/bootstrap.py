"""Whether one system is better than another at the same latency: a paired bootstrap of BLEU.

Systems are points on curves, and two curves hardly ever have points at the same latency. So a system is compared with
the straight line between the two points of the other curve beside it: in each resample of the sentences, its BLEU with
the BLEU on that line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU

SEED = 12345
Counts = npt.NDArray[np.int64]
"""[N, 2 + 2 * orders] of each sentence: its length, its reference's, matches and n-grams of each order."""


def sentence_counts(hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
    """What BLEU adds up over sentences."""
    metric = BLEU(effective_order=True)
    found = [metric.sentence_score(one, [other]) for one, other in zip(hypotheses, references, strict=True)]
    return np.array([[score.sys_len, score.ref_len, *score.counts, *score.totals] for score in found], dtype=np.int64)


def bleu_of(total: npt.NDArray[np.int64]) -> float:
    """BLEU of the counts of many sentences, added up; smoothed as `quality.bleu` is."""
    orders = (len(total) - 2) // 2
    matches, every = total[2 : 2 + orders].tolist(), total[2 + orders :].tolist()
    return float(BLEU.compute_bleu(matches, every, int(total[0]), int(total[1]), smooth_method="exp").score)


def difference_at_equal_latency(
    own: Counts, low: Counts, high: Counts, share: float, resamples: int
) -> tuple[float, float]:
    """How much more BLEU `own` has than the point at `share` of the way from `low` to `high`, and p: how likely a
    difference as large would be by chance."""
    systems = np.stack([own, low, high])
    weights = np.random.default_rng(SEED).multinomial(len(own), np.full(len(own), 1 / len(own)), size=resamples)
    drawn = np.array([_difference(np.einsum("n,snc->sc", weight, systems), share) for weight in weights])
    observed = _difference(systems.sum(axis=1), share)
    if observed == 0:
        return 0.0, 1.0
    # Under the hypothesis of no difference, resampled ones would lie around 0 as they lie around their mean.
    beyond = np.abs(drawn - drawn.mean()) >= abs(observed)
    return observed, float((beyond.sum() + 1) / (resamples + 1))


def _difference(totals: npt.NDArray[np.int64], share: float) -> float:
    own, low, high = (bleu_of(total) for total in totals)
    return own - (low + share * (high - low))
