"""What an evaluation reports, given what was asked for."""

from __future__ import annotations

from turia.evaluation.options import Convention, EvaluationOptions


def test_the_authors_conventions_are_always_reported_and_first() -> None:
    assert EvaluationOptions().conventions() == [Convention.AUTHORS]
    asked = EvaluationOptions(latency=(Convention.LONGYAAL, Convention.SIMULEVAL))
    assert asked.conventions() == [Convention.AUTHORS, Convention.SIMULEVAL, Convention.LONGYAAL]


def test_all_means_all_and_is_no_convention() -> None:
    everything = EvaluationOptions(latency=(Convention.ALL,)).conventions()
    assert everything == [Convention.AUTHORS, Convention.SIMULEVAL, Convention.STREAMLAAL, Convention.LONGYAAL]
