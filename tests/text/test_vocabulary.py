"""Words as ids, and as a file that anyone can read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.errors import ModelError
from turia.text.normalise import normalise_word
from turia.text.vocabulary import BOUNDARY, UNHEARD, UNKNOWN, Vocabulary


def test_the_most_frequent_words_have_ids() -> None:
    vocabulary = Vocabulary.learn({"b": 2, "rare": 1, "a": 2, "c": 5}, 3)
    assert vocabulary.entries == ("~boundary", "~unheard", "~unknown", "c", "a", "b")
    assert (vocabulary.id("a"), vocabulary.id("rare")) == (4, UNKNOWN)
    assert len(vocabulary) == 6


def test_it_is_read_back(tmp_path: Path) -> None:
    vocabulary = Vocabulary.learn({"größe": 1, "a\u2028b": 1, "\x85": 1}, 9)
    vocabulary.save(tmp_path / "words.txt")
    assert Vocabulary.load(tmp_path / "words.txt").entries == vocabulary.entries


@given(st.text())
def test_no_text_can_forge_a_boundary(text: str) -> None:
    vocabulary = Vocabulary.learn({"a": 1}, 1)
    assert vocabulary.id(normalise_word(text)) not in (BOUNDARY, UNHEARD)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\n", "whose first lines are"),
        (b"~boundary\n~unheard\n~unknown\na\na\n", "line 5: 'a'"),
        (b"~boundary\n~unheard\n~unknown\n\na\n", "line 4: ''"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_another_file_is_refused_by_name(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as caught:
        Vocabulary.load(path)
    assert str(path) in str(caught.value)
