"""One sentence a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.commands.segmenter_apply import choose, pieces
from turia.errors import InputError
from turia.segmenter.classifier import Classifier
from turia.segmenter.online import GivenSegmenter


def test_words_are_written_as_they_become_visible() -> None:
    segmenter = GivenSegmenter([2, 1, 2], window=1)
    assert list(pieces(segmenter, ["a", "b", "c", "d"])) == ["", "a", " b\n", "c\n", "d\n"]


def test_a_line_is_closed_late() -> None:
    assert list(pieces(GivenSegmenter([3]), ["a", "b"])) == ["a", " b", "\n"]
    assert list(pieces(GivenSegmenter([]), [])) == [""]


@given(st.lists(st.integers(1, 5)), st.integers(0, 3))
def test_together_they_are_the_sentences(lengths: list[int], window: int) -> None:
    words = [str(number) for number in range(sum(lengths))]
    lines = "".join(pieces(GivenSegmenter(lengths, window), words)).splitlines()
    assert [len(line.split()) for line in lines] == lengths
    assert " ".join(lines).split() == words


def test_argmax_decides_at_a_half_and_keeps_the_rule_of_the_limit(exported: Path) -> None:
    usual = choose(exported, None, 2, 60)
    argmax = choose(exported, None, 2, 60, argmax=True)
    assert usual._decision == Classifier(exported, 2).decision
    assert argmax._decision == replace(usual._decision, threshold=0.5)


def test_a_model_or_a_language_is_needed(exported: Path) -> None:
    for model, punctuation in ((None, None), (exported, "de")):
        with pytest.raises(InputError, match="expected either --model FOLDER or --punctuation LANGUAGE"):
            choose(model, punctuation, 1, 60)


def test_a_source_that_breaks_off_gives_out_what_was_read() -> None:
    def broken() -> Iterator[str]:
        yield from ("a", "b", "c")
        raise InputError("standard input: cannot be read any further")

    found = pieces(GivenSegmenter([2, 1], window=1), broken())
    assert "".join(islice(found, 4)) == "a b\nc\n"
    with pytest.raises(InputError, match="any further"):
        next(found)


@pytest.mark.parametrize("name", ["talk.txt", "", "d", "german"])
def test_a_file_is_no_language(name: str) -> None:
    with pytest.raises(InputError, match=r"expected the code of a language, such as de"):
        choose(None, name, 1, 60)
    assert choose(None, "pt-BR", 1, 60).window == 1


def test_argmax_is_for_a_network() -> None:
    with pytest.raises(InputError, match="--argmax is for the network of --model"):
        choose(None, "de", 1, 60, argmax=True)
