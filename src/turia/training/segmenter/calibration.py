"""How a segmenter decides, chosen on a dev set. Plain functions of probabilities; no torch.

The threshold is the one with the best F1 of the boundaries. Taking the likelier class (argmax) is worse. Networks that
look at a window are trained on far more sentence ends than a stream has: their probabilities are too high, and split
too often. A network that reads the stream once is trained on its true share, and at 0.5 it splits too seldom.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Probabilities = npt.NDArray[np.float64]

FARTHEST = 500
"""Words before the limit from which on nothing is forced. Where no word of dev reaches the threshold, the values of
going on creep towards it for as many steps as dev has words."""


def falling_thresholds(
    probabilities: Probabilities, threshold: float, drawn_share: float, true_share: float
) -> tuple[float, ...]:
    """What suffices for a forced split with m = 0, 1, 2, ... words left before the limit, until `threshold`
    suffices.

    One split has to be made within the next m + 1 words, and each can only be taken as it passes. Taking
    word i is right with probability q_i; going on is worth v_m = E[max(q, v_{m-1})], v_0 = 0, for words
    like those of dev. So the word is taken if q >= v_m: the rule with the greatest chance to hit a true
    boundary (optimal stopping, Cayley-Moser). q is the network's probability corrected for the share of
    ends among the drawn samples.
    """
    true = shift_prior(probabilities, drawn_share, true_share)
    values = [0.0]
    falling = [0.0]
    while len(falling) < FARTHEST:
        values.append(float(np.maximum(true, values[-1]).mean()))
        as_given = float(shift_prior(np.array([values[-1]]), true_share, drawn_share)[0])
        if as_given >= threshold or values[-1] <= values[-2]:
            break
        falling.append(as_given)
    return tuple(falling)


def shift_prior(probabilities: Probabilities, drawn: float, true: float) -> Probabilities:
    """Probabilities learned where a share `drawn` of samples were ends, for a stream where `true` of the words are."""
    ends = probabilities * true / drawn
    goes_on = (1 - probabilities) * (1 - true) / (1 - drawn)
    return ends / (ends + goes_on)
