"""Drafts of single letters, for tests of policies."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from turia.policy.base import Draft, DraftWord


def draft(
    words: str, attention: Sequence[Sequence[float]] | None = None, probabilities: Sequence[float] | None = None
) -> Draft:
    """A word for each letter, with its attention to each source word, or its probability."""
    return Draft(
        tuple(
            DraftWord(
                word,
                (9,),
                log(probabilities[number]) if probabilities else -0.5,
                log(probabilities[number]) if probabilities else -0.5,
                np.array(attention[number], dtype=np.float32) if attention else None,
            )
            for number, word in enumerate(words)
        ),
        complete=False,
    )
