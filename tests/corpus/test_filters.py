"""Filters: what goes, and that good pairs stay."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.config import Filters
from turia.corpus.filters import (
    Dropped,
    LanguageFilter,
    drop_by_length,
    drop_by_ratio,
    is_unreadable,
    pair_hash,
    repeats,
)
from turia.errors import ConfigError

FILTERS = Filters(min_words=2, max_words=10, max_ratio=3.0, ratio_from_words=5)


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [(2, 2, False), (10, 10, False), (1, 5, True), (5, 1, True), (11, 9, True), (9, 11, True)],
)
def test_length(source: int, target: int, dropped: bool) -> None:
    assert drop_by_length(source, target, FILTERS) is dropped


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [(3, 9, False), (9, 3, False), (3, 10, True), (10, 3, True), (1, 5, False), (1, 6, True), (0, 6, True)],
)
def test_ratio(source: int, target: int, dropped: bool) -> None:
    assert drop_by_ratio(source, target, FILTERS) is dropped


@pytest.mark.parametrize(
    ("text", "broken"), [("Gr\ufffd\ufffde", True), ("it\x92s", True), ("„Größe“ – 5 €", False), ("", False)]
)
def test_unreadable(text: str, broken: bool) -> None:
    assert is_unreadable(text) is broken


@pytest.fixture(scope="module")
def languages() -> LanguageFilter:
    return LanguageFilter(("de", "en"))


@pytest.mark.parametrize(
    ("text", "language", "other"),
    [
        ("Das ist ein ganz gewöhnlicher deutscher Satz.", "de", False),
        ("Das ist ein ganz gewöhnlicher deutscher Satz.", "en", True),
        ("This is a perfectly ordinary English sentence.", "en", False),
        ("Cette phrase est écrite en français, bien sûr.", "en", True),
        ("Cette phrase est écrite en français, bien sûr.", "de", True),
        ("Merci beaucoup!", "de", False),  # too short to be sure
        ("In clause 2 of the German version it says: „Es bedarf keiner Regelung“, which is right.", "en", False),
    ],
)
def test_language(languages: LanguageFilter, text: str, language: str, other: bool) -> None:
    assert languages.is_other(text, language) is other


def test_a_language_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not know swapped, toy; set it to false"):
        LanguageFilter(("toy", "swapped"))


def test_pair_hash_sees_both_sides() -> None:
    assert pair_hash("a", "b") == pair_hash("a", "b")
    assert len({pair_hash("a", "b"), pair_hash("b", "a"), pair_hash("a b", ""), pair_hash("", "a b")}) == 4


@given(values=st.lists(st.integers(0, 5)), limit=st.integers(0, 3))
def test_repeats_marks_those_after_the_first_few(values: list[int], limit: int) -> None:
    seen: Counter[int] = Counter()
    expected = []
    for value in values:
        seen[value] += 1
        expected.append(limit > 0 and seen[value] > limit)
    assert repeats(np.array(values, dtype=np.uint64), limit).tolist() == expected


def test_dropped_adds_up() -> None:
    assert Dropped(length=1, ratio=2) + Dropped(ratio=3, positions=4) == Dropped(length=1, ratio=5, positions=4)
