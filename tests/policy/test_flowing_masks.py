"""Windows without separators: a sentence may be read before the one before it has been written."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.model.windows import pairs, sentence
from turia.policy.masks import (
    FlowingReads,
    flowing_reach,
    flowing_reads,
    needed_words,
    with_separators_numbered,
    words_limit,
)
from turia.text.layout import WHOLE, Sentence, Window, lay_out, target_rows
from turia.text.symbols import END_ID

Pair = tuple[list[Sentence], list[Sentence]]


def flowing(source: list[Sentence]) -> Window:
    return lay_out(source, True, END_ID, flowing=True)


def read_at_rows(pair: Pair, k: int, gamma: float) -> tuple[Window, FlowingReads, list[int]]:
    """The window, what is read when, and the words of the window read at each row."""
    window, rows = flowing(pair[0]), target_rows(pair[1])
    found = flowing_reads(window, rows, needed_words(with_separators_numbered(rows).word, k, gamma))
    return window, found, (window.first_word[rows.sentence] + found.rows).tolist()


def test_wait_2_over_two_sentences() -> None:
    """x: 3 + 4 words, y: 2 + 2 words, a piece each. Rows predict y1 y2 <SEP> y3 y4 <END>."""
    pair = [sentence([1] * 3), sentence([1] * 4)], [sentence([1] * 2), sentence([1] * 2)]
    window, found, read = read_at_rows(pair, k=2, gamma=1.0)
    assert read == [2, 3, 4, 5, 6, 7], "the separator is written with one word of the next sentence read"
    assert found.first.tolist() == [2, 2]
    assert found.before.tolist() == [0, 1]
    reach = flowing_reach(window, found.before, found.first, "pbe").tolist()
    assert reach == [3, 3, 3, 4, 5, 6, 7, 8, 9], "x4 was read for the separator: it has not seen x5"
    assert flowing_reach(window, found.before, found.first, "unidirectional").tolist() == list(range(1, 10))


def test_what_was_read_for_one_sentence_stays_read_for_the_next() -> None:
    """A long translation: the next sentence is there when its turn comes, and is the first block of its own."""
    pair = [sentence([1] * 2), sentence([1] * 4)], [sentence([1] * 4), sentence([1])]
    _, found, read = read_at_rows(pair, k=1, gamma=1.0)
    assert read == [1, 2, 3, 4, 5, 5, 6]
    assert found.first.tolist() == [1, 3]
    assert found.before.tolist() == [0, 3]


def test_a_separator_waits_for_the_end_of_its_sentence() -> None:
    """A short translation."""
    pair = [sentence([1] * 6), sentence([1] * 2)], [sentence([1]), sentence([1])]
    _, _, read = read_at_rows(pair, k=1, gamma=1.0)
    assert read == [1, 6, 7, 8]


@given(pair=pairs(), k=st.integers(1, 12), gamma=st.sampled_from([0.8, 1.0, 1.24]))
def test_nothing_is_unread_and_the_policy_gets_what_it_asks_for(pair: Pair, k: int, gamma: float) -> None:
    window, rows = flowing(pair[0]), target_rows(pair[1])
    needed = needed_words(with_separators_numbered(rows).word, k, gamma)
    before, first, read = flowing_reads(window, rows, needed)
    begins = window.first_word[rows.sentence]
    absolute = begins + read
    assert (np.diff(absolute) >= 0).all()
    assert absolute.max() == len(window.word_ends)
    assert (read >= np.minimum(needed, len(window.word_ends) - begins)).all()
    limit = words_limit(window, rows.sentence, read)
    assert np.array_equal(limit, window.word_ends[absolute - 1])
    assert (first >= 1).all()
    assert (before >= 0).all()
    # Nothing that a row sees has seen what had not been read by then.
    reach = flowing_reach(window, before, first, "pbe")
    assert all(reach[:seen].max() <= seen for seen in limit)
    assert rows.word[-1] == WHOLE
    assert limit[-1] == len(window.ids)
