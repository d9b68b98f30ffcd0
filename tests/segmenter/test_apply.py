"""One sentence a line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.errors import InputError
from turia.segmenter.apply import choose, pieces
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
