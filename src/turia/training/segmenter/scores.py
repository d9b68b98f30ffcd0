"""How well boundaries were found: plain functions of flags, one per word of a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class BoundaryScore:
    """Boundaries that were found and are right, found at all, and in the reference."""

    right: int
    found: int
    expected: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, as 2·right / (found + expected)."""
        total = self.found + self.expected
        return 2 * self.right / total if total else 0.0


def score(found: Flags, expected: Flags) -> BoundaryScore:
    """Boundaries `found` [N] against `expected` [N]."""
    assert found.shape == expected.shape
    return BoundaryScore(int((found & expected).sum()), int(found.sum()), int(expected.sum()))


def macro_f1(found: Flags, expected: Flags) -> float:
    """Mean of the F1 of "ends here" and the F1 of "goes on"."""
    return (score(found, expected).f1 + score(~found, ~expected).f1) / 2


def best_threshold(probabilities: npt.NDArray[np.float64], expected: Flags) -> float:
    """The threshold t with the best boundary F1 when words of probability >= t are boundaries."""
    order = np.argsort(-probabilities, kind="stable")
    ranked = probabilities[order]
    f1 = 2 * np.cumsum(expected[order]) / (np.arange(1, len(order) + 1) + expected.sum())
    # Words of equal probability fall together: only the last of them is a place to cut.
    f1[:-1][ranked[:-1] == ranked[1:]] = -1.0
    return float(ranked[int(np.argmax(f1))])
