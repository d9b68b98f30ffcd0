"""Made-up speeches, for tests of what always holds."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from tests.engine.fakes import WORDS

source_words = st.lists(st.sampled_from([*WORDS, "–", "xyz", "42"]), min_size=1, max_size=30)


@st.composite
def spoken(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    """Words, and the lengths of their sentences."""
    words = draw(source_words)
    cuts = draw(st.sets(st.integers(1, max(1, len(words) - 1)), max_size=4))
    marks = [0, *sorted(cut for cut in cuts if cut < len(words)), len(words)]
    return words, [end - begin for begin, end in itertools.pairwise(marks)]
