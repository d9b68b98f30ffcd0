"""Words in pieces."""

from __future__ import annotations

from collections.abc import Sequence

from turia.text.subwords import Subwords


def encode_words(subwords: Subwords, words: Sequence[str]) -> tuple[list[int], list[int]]:
    """The pieces of `words`, and for each piece the index of its word."""
    pieces = [subwords.encode_word(word) for word in words]
    return [piece for word in pieces for piece in word], [i for i, word in enumerate(pieces) for _ in word]
