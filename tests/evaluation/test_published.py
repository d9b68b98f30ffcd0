"""Published outputs come out with the published figures: exactly from mwerSegmenter's cuts, nearly from ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.evaluation.published import CASES, DEV_CASES, EXPECTED, SMALL, load, mwersegmenter_lines
from turia.evaluation import resegment as module
from turia.evaluation.inputs import StreamLog
from turia.evaluation.latency import mean, stream_al, stream_ap, stream_dal
from turia.evaluation.options import Unit
from turia.evaluation.quality import bleu
from turia.evaluation.resegment import resegment
from turia.evaluation.units import plain_lines
from turia.stream.actions import parse_actions
from turia.stream.delays import delays_from_actions


def figures(stream: StreamLog, segments: Sequence[Sequence[str]], scale: float) -> list[float]:
    lengths = [len(words) for words in segments]
    return [
        mean(stream_ap(stream.delays, stream.source_lengths, lengths)),
        mean(stream_al(stream.delays, stream.source_lengths, lengths)),
        mean(stream_dal(stream.delays, stream.source_lengths, lengths, scale)),
    ]


@pytest.mark.parametrize("name", CASES)
def test_figures_from_mwersegmenters_cuts_are_exact(name: str) -> None:
    expected = EXPECTED[name]
    stream = load(name, resegmented=True)
    assert stream.segments is not None
    ap, al, dal = figures(stream, stream.segments, expected["dal_scale"])
    assert ap == pytest.approx(expected["AP"], abs=1e-6)
    assert al == pytest.approx(expected["AL"], abs=1e-6)
    assert dal == pytest.approx(expected["DAL"], abs=1e-6)
    if "BLEU" in expected:
        score = bleu(plain_lines(stream.segments, Unit.MOSES, "en"), stream.references)
        assert score.value == pytest.approx(expected["BLEU"], abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_figures_from_our_own_cuts_are_near(name: str) -> None:
    """Held to two thirds of what is asked for (0.02, 0.15, 0.15, 0.3): more such outputs are to come."""
    expected = EXPECTED[name]
    stream = load(name, resegmented=False)
    segments = resegment(stream.words, stream.references)
    ap, al, dal = figures(stream, segments, expected["dal_scale"])
    assert ap == pytest.approx(expected["AP"], abs=0.013)
    assert al == pytest.approx(expected["AL"], abs=0.1)
    assert dal == pytest.approx(expected["DAL"], abs=0.1)
    if "BLEU" in expected:
        score = bleu(plain_lines(segments, Unit.MOSES, "en"), stream.references)
        assert score.value == pytest.approx(expected["BLEU"], abs=0.2)


@pytest.mark.parametrize("case", SMALL)
def test_cases_worked_by_hand(case: dict[str, object]) -> None:
    source, hypothesis, actions, expect = (case[key] for key in ("source", "hyp", "actions", "expect"))
    assert isinstance(source, list)
    assert isinstance(hypothesis, list)
    assert isinstance(expect, dict)
    delays = delays_from_actions(parse_actions(str(actions)))
    for scale, (ap, al, dal) in expect.items():
        assert mean(stream_ap(delays, source, hypothesis)) == pytest.approx(ap, abs=1e-9)
        assert mean(stream_al(delays, source, hypothesis)) == pytest.approx(al, abs=1e-9)
        assert mean(stream_dal(delays, source, hypothesis, float(scale))) == pytest.approx(dal, abs=1e-9)


@pytest.mark.parametrize("name", DEV_CASES)
def test_ties_are_settled_as_mwersegmenter_settles_them(name: str) -> None:
    """On what mwerSegmenter was given here (a cased reference, a lowercased hypothesis) every cut is its own."""
    lines = mwersegmenter_lines(name)
    ids: dict[str, int] = {}
    references = [[ids.setdefault(token, len(ids)) for token in line.split()] for line in load(name, False).references]
    hypothesis = [ids.setdefault(token, len(ids)) for line in lines for token in line.split()]
    no_preference = np.ones(len(hypothesis) + 1, dtype=np.int64)
    ends = module._trace(module._fill(references, hypothesis, no_preference))
    assert ends == np.cumsum([len(line.split()) for line in lines]).tolist()
