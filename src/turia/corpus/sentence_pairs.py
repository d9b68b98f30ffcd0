"""Sentence pairs as words, for what is learned from words and not from shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from turia.config import Corpus
from turia.formats.documents import read
from turia.text.normalise import clean, clean_word, normalise_word, part_joined_words


class SentencePair(NamedTuple):
    """The words of both sides, each as its model reads or writes them."""

    source: tuple[str, ...]
    target: tuple[str, ...]


def sentence_pairs(
    corpora: Sequence[Corpus],
    languages: tuple[str, str],
    most: int,
    max_words: int,
    normalises: bool = True,
    least_words: int = 1,
) -> list[SentencePair]:
    """The first pairs of each corpus, as many of each, up to `most` in all; of `least_words` to `max_words` a side."""
    share = -(-most // max(1, len(corpora)))
    found: list[SentencePair] = []
    for corpus in corpora:
        pairs = _pairs(corpus, languages, normalises)
        fitting = (pair for pair in pairs if all(least_words <= len(side) <= max_words for side in pair))
        found += islice(fitting, share)
    return found[:most]


def _pairs(corpus: Corpus, languages: tuple[str, str], normalises: bool) -> Iterator[SentencePair]:
    word_as_heard = normalise_word if normalises else clean_word
    for document in read(corpus, *languages):
        for source, target in zip(document.source, document.target, strict=True):
            words = part_joined_words(source).split() if normalises else source.split()
            yield SentencePair(tuple(filter(None, map(word_as_heard, words))), tuple(clean(target)))
