"""The learning rate and the size of batches as functions of the step and of the share of the plan that is done."""

from __future__ import annotations

from turia.config import Training


def rate_share(training: Training, step: int, progress: float) -> float:
    """The share of its peak that a learning rate has at optimiser step `step` (1-based) when `progress` (0 to 1) of the
    planned length is done.

    inverse-sqrt: min(step / warmup, sqrt(warmup / step)) (the paper's); linear: warm-up, then constant, then straight
    down to zero over the last `cooldown` of the plan; fixed: no warm-up, no fall.
    """
    warmup = max(1, training.warmup_steps)
    if training.schedule == "fixed":
        return 1.0
    rising = min(1.0, step / warmup)
    if training.schedule == "inverse-sqrt":
        return float(min(rising, (warmup / step) ** 0.5))
    falling = min(1.0, (1.0 - progress) / training.cooldown) if training.cooldown > 0 else 1.0
    return rising * max(0.0, falling)


def batch_tokens(training: Training, step: int) -> int:
    """Tokens of a batch at `step`: from `batch_tokens_start` to `batch_tokens` over `batch_growth_steps`."""
    start, full = training.batch_tokens_start or training.batch_tokens, training.batch_tokens
    if training.batch_growth_steps == 0:
        return full
    return round(start + (full - start) * min(1.0, step / training.batch_growth_steps))
