"""Native code decides as numpy does: the same heads, as sure."""

from __future__ import annotations

import numpy as np
import pytest

from turia.policy.base import sureness
from turia.runtime.heads import perceptron_sum

kernels = pytest.importorskip("turia_kernels", reason="the package turia-kernels is not installed")
VARIANTS: list[str] = kernels.variants()


@pytest.mark.parametrize("variant", VARIANTS)
def test_native_code_computes_the_same_head(variant: str) -> None:
    library, rng = kernels.Kernels(variant), np.random.default_rng(3)
    rows = rng.standard_normal((64, 516), dtype=np.float32)
    for _ in range(20):
        states = tuple(rng.standard_normal((2, 256), dtype=np.float32))
        expected = perceptron_sum(rows, states, (3.5, -0.25))
        assert library.perceptron(rows, states, (3.5, -0.25)) == pytest.approx(expected, rel=1e-4, abs=1e-2)
    few = rows[:7]
    assert library.perceptron(few, states, (1.0, 2.0)) == pytest.approx(
        perceptron_sum(few, states, (1.0, 2.0)), rel=1e-4
    )
    with pytest.raises(ValueError, match="another number of values than 513"):
        library.perceptron(rows, states, (3.5,))
    with pytest.raises(ValueError, match="at most 4096 values"):
        library.perceptron(rows, (np.zeros(5000, dtype=np.float32),), ())
    with pytest.raises(ValueError, match="another number of values than 256"):
        library.perceptron(rows, states[:1], ())
    for wrong in (rows.astype(np.float64), rows.ravel(), rows.astype(np.int32)):
        with pytest.raises(TypeError, match="expected float32 with 2 dimensions"):
            library.perceptron(wrong, states, (3.5, -0.25))
    with pytest.raises(TypeError, match="expected float32 with 1 dimensions"):
        library.perceptron(rows, (states[0].astype(np.float64), states[1]), (3.5, -0.25))
    with pytest.raises(TypeError):
        library.perceptron(rows, states, ("many",))


@pytest.mark.parametrize("variant", VARIANTS)
def test_native_code_is_as_sure(variant: str) -> None:
    library, rng = kernels.Kernels(variant), np.random.default_rng(4)
    for size in (15, 16, 8000, 8003):
        for scale in (1.0, 30.0, 300.0):
            logits = scale * rng.standard_normal(size, dtype=np.float32)
            forbidden = rng.random(size) < 0.5
            forbidden[int(logits.argmax())] = scale > 1
            expected = float(sureness(logits, forbidden))
            assert library.sureness(logits, forbidden) == pytest.approx(expected, rel=1e-5, abs=1e-5)
    with pytest.raises(TypeError, match="expected float32"):
        library.sureness(logits.astype(np.float64), forbidden)
    with pytest.raises(ValueError, match="different lengths"):
        library.sureness(logits, forbidden[:-1])
