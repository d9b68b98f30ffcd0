"""The masks against METHOD's tables, the paper's Figure 1, and the rule that nothing unread is ever seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.windows import lay_out_pair, pairs, sentence, window
from turia.config import Anchor, Encoder
from turia.policy.masks import cross_limit, encoder_reach, needed_words
from turia.policy.waitk import words_needed
from turia.text.layout import WHOLE, Sentence, target_rows

# One sentence of six words, one piece each: positions <DOC> x1 .. x6 <END> are 0 .. 7.
SIX = window([1] * 6)


@pytest.mark.parametrize(
    ("encoder", "expected"),
    [
        ("bidirectional", [8, 8, 8, 8, 8, 8, 8, 8]),
        ("unidirectional", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("pbe", [5, 5, 5, 5, 5, 6, 7, 8]),
    ],
)
@pytest.mark.parametrize("anchor", ["window", "sentence"])
def test_encoder_table_of_one_sentence(encoder: Encoder, expected: list[int], anchor: Anchor) -> None:
    assert encoder_reach(SIX, 4, encoder, anchor).tolist() == expected


@pytest.mark.parametrize(("read", "encoder", "seen"), [
    # Figure 1: what x3 attends to with k = 4, when G = 4 (top) and G = 5 (bottom).
    (4, "bidirectional", {1, 2, 3, 4}), (5, "bidirectional", {1, 2, 3, 4, 5}),
    (4, "unidirectional", {1, 2, 3}), (5, "unidirectional", {1, 2, 3}),
    (4, "pbe", {1, 2, 3, 4}), (5, "pbe", {1, 2, 3, 4}),
])  # fmt: skip
def test_figure_1(read: int, encoder: Encoder, seen: set[int]) -> None:
    from turia.text.layout import lay_out

    spoken = lay_out([sentence([1] * read)], opens=True, closing=None)
    reach = encoder_reach(spoken, 4, encoder, "sentence")
    # Column 0 is the symbol that opens the stream.
    assert set(range(1, int(reach[3]))) == seen


def test_the_sentence_anchor_counts_words_of_each_sentence() -> None:
    # <DOC> a1 a2 b1 <SEP> | c1 d1 d2 e1 <END>: words of 2, 1 and 1, 2, 1 pieces.
    two = window([2, 1], [1, 2, 1])
    assert encoder_reach(two, 1, "pbe", "sentence").tolist() == [3, 3, 3, 4, 5, 6, 7, 8, 9, 10]
    assert encoder_reach(two, 2, "pbe", "sentence").tolist() == [5, 5, 5, 5, 5, 8, 8, 8, 9, 10]
    assert encoder_reach(two, 9, "pbe", "sentence").tolist() == [5] * 5 + [10] * 5


def test_cross_attention_by_words() -> None:
    two = window([2, 1], [1, 2, 1])
    rows = target_rows([sentence([1, 1]), sentence([2, 1, 1, 1])])
    assert rows.word.tolist() == [1, 2, WHOLE, 1, 1, 2, 3, 4, WHOLE]
    # k = 1: word t of a sentence sees t of its words; the closing symbol comes with the last one.
    assert cross_limit(two, rows, 1, 1.0, "sentence").tolist() == [3, 5, 5, 6, 6, 8, 10, 10, 10]
    # gamma = 2: two target words to one source word.
    assert cross_limit(two, rows, 1, 2.0, "sentence").tolist() == [3, 3, 5, 6, 6, 6, 8, 8, 10]


def test_cross_attention_of_the_window_anchor_has_slope_one() -> None:
    two = window([2, 1], [1, 2, 1])
    rows = target_rows([sentence([1, 1]), sentence([2, 1])])
    assert cross_limit(two, rows, 3, 1.2, "window").tolist() == [4, 5, 6, 7, 8, 9, 10]


@given(pair=pairs(), k=st.integers(1, 8), gamma=st.sampled_from([0.8, 1.0, 1.06, 1.24]))
def test_no_row_sees_a_word_that_the_policy_has_not_read(
    pair: tuple[list[Sentence], list[Sentence]], k: int, gamma: float
) -> None:
    source, target = pair
    laid, _ = lay_out_pair(source, target)
    rows = target_rows(target)
    limit = cross_limit(laid, rows, k, gamma, "sentence")
    reach = encoder_reach(laid, k, "pbe", "sentence")
    for row, (n, t) in enumerate(zip(rows.sentence, rows.word, strict=True)):
        words = len(source[n].pieces)
        read = words if t == WHOLE else min(words_needed(int(t), k, gamma), words)
        # Position after the last piece read: earlier sentences with their symbols, then `read` words.
        expected = 1 + sum(len(s.ids) + 1 for s in source[:n]) + int(source[n].pieces[:read].sum())
        expected += read == words
        assert limit[row] == expected
        # And nothing that it sees was encoded with more than had been read.
        assert reach[: limit[row]].max() <= limit[row]


@given(pair=pairs(), k=st.integers(1, 8))
def test_rows_of_one_word_see_the_same_and_never_less_than_the_word_before(
    pair: tuple[list[Sentence], list[Sentence]], k: int
) -> None:
    laid, _ = lay_out_pair(*pair)
    rows = target_rows(pair[1])
    limit = cross_limit(laid, rows, k, 1.0, "sentence")
    assert (np.diff(limit) >= 0).all()
    same = (np.diff(rows.sentence) == 0) & (np.diff(rows.word) == 0)
    assert (np.diff(limit)[same] == 0).all()


def test_needed_words_follow_the_policy() -> None:
    words = np.array([1, 2, 3, 4, 5, WHOLE])
    assert needed_words(words, 2, 0.8).tolist() == [2, 3, 4, 5, 7, WHOLE]
    assert needed_words(words, 2, 0.8, "ceil").tolist() == [2, 4, 5, 6, 7, WHOLE]
