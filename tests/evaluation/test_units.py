"""Moses tokens and plain words."""

from __future__ import annotations

import pytest

from turia.errors import FormatError
from turia.evaluation.units import words_of_tokens


def test_a_word_is_there_when_its_last_token_is() -> None:
    lines = [["He", "said", ":", "&quot;", "It", "&apos;s", "20", "@-@", "odd", ".", "&quot;"], [], ["(", "Yes", ")"]]
    words, delays = words_of_tokens(lines, range(1, 15), "en")
    assert words == ["He", "said:", "\"It's", '20-odd."', "(Yes)"]
    assert delays == [1, 3, 6, 11, 14]


def test_tokens_that_become_other_characters_are_refused() -> None:
    with pytest.raises(FormatError, match="cannot be joined to words: a @-@ @-@ b"):
        words_of_tokens([["a", "@-@", "@-@", "b"]], range(4), "en")
