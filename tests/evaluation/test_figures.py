"""Figures for people and for programs, and what a measure is given."""

from __future__ import annotations

import pytest

from turia.evaluation.figures import CutStreams, Figure
from turia.evaluation.inputs import StreamLog
from turia.evaluation.options import EvaluationOptions, Unit

NAN = float("nan")


def test_figures_are_shown_with_their_decimals_and_intervals() -> None:
    assert Figure("AL", 3.14159, "authors").shown() == "3.142"
    assert Figure("BLEU", 31.416, "sacrebleu", decimals=2, confidence=0.987).shown() == "31.42 ± 0.99"
    assert Figure("BLEU", 31.416, "sacrebleu", decimals=2, confidence=0.987).shown(decimals=1) == "31.4 ± 1.0"


def test_a_figure_of_no_sentence_is_a_dash_and_null() -> None:
    nothing = Figure("LongYAAL", NAN, "longyaal")
    assert (nothing.shown(), nothing.json_value()) == ("–", None)
    assert Figure("AL", 1.5, "authors").json_value() == 1.5


@pytest.mark.slow
def test_measures_get_words_lengths_and_text() -> None:
    first = StreamLog([3, 2], ["One two", "three"], ["One", "two", "three"], [1, 2, 3])
    second = StreamLog([1], ["It's so."], ["It", "&apos;s", "so", "."], [1, 1, 1, 1])
    segments = [[["One", "two"], ["three"]], [["It", "&apos;s", "so", "."]]]
    cut = CutStreams([first, second], segments, EvaluationOptions(unit=Unit.MOSES))
    assert cut.lengths == [[2, 1], [4]]
    assert cut.references == ["One two", "three", "It's so."]
    assert cut.hypotheses == ["One two", "three", "It's so."]
    assert cut.reference_lengths == [[2, 1], [4]]
