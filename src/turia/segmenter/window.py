"""What the classifier looks at: P past slots, the word, and w words that follow it (METHOD section 5).

The past holds a boundary symbol after each split; before the stream there are only boundaries. Future slots
beyond the end of the stream (or a pause) hold boundaries. Words that normalise to nothing take no slot: the
future slots they leave empty are *unheard*. The training samples of corpus/boundaries.py are cut in the
same way; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

from turia.text.vocabulary import BOUNDARY, UNHEARD, Vocabulary

PAST = 10
"""P of METHOD section 5."""


def window_ids(
    past: Sequence[str], word: str, future: Sequence[str], w: int, stopped: bool, vocabulary: Vocabulary
) -> list[int]:
    """[P + 1 + w] ids. `past` holds the last P normalised words, with the empty word for a boundary.

    `future` holds the normalised words that follow, at most w; `stopped` says that nothing comes after them.
    """
    assert len(past) == PAST
    assert len(future) <= w
    ids = [vocabulary.id(before) if before else BOUNDARY for before in past]
    ids.append(vocabulary.id(word))
    ids += map(vocabulary.id, future)
    return ids + [BOUNDARY if stopped else UNHEARD] * (w - len(future))
