"""The figures of a sweep: by sentence, against a baseline, of what others have published."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.experiments.sweep.toys import recipe, run
from turia.config import Published
from turia.errors import FormatError
from turia.evaluation.quality import paired_p_values
from turia.experiments.sweep.run import sweep
from turia.experiments.sweep.scoring import score_published


@pytest.mark.slow
def test_sentences_are_measured_by_themselves_and_blocks_have_a_curve(toml: Path) -> None:
    text = toml.read_text(encoding="utf-8")
    toml.write_text(text.replace("windows = [0, 2]", 'windows = []\nlatency = "sentence"'), encoding="utf-8")
    rows = sweep(toml, lambda share, what: None).rows
    # Sentences of six words: nothing is later than that, while a stream's mean delay may be.
    assert {row.report.sentences for row in rows} == {5}
    (offline,) = (row for row in rows if row.offline)
    assert offline.report.figure("AL").value == 6.0
    toml.write_text(text.replace("windows = [0, 2]", "windows = []\nblocks = [4]\noracle = false"), encoding="utf-8")
    rows = sweep(toml, lambda share, what: None).rows
    assert {row.curve for row in rows} == {"blocks of 4 words", "whole sentences"}


def test_traces_of_older_releases_get_the_files_that_they_are_of(toml: Path) -> None:
    first = run(toml)
    for path in first.folder.rglob("*.jsonl"):
        text = path.read_text("utf-8")
        path.write_text(re.sub(r'"files":"\w+",', "", text, count=1), encoding="utf-8")
    assert run(toml).rows == first.rows


def test_wait_k_is_a_point_of_its_own_with_a_gamma_of_its_own(toml: Path) -> None:
    told = 'windows = []\noffline = false\npolicies = ["wait-k:k=1,gamma=0.2"]\n'
    toml.write_text(told + toml.read_text("utf-8").replace("windows = [0, 2]", ""), encoding="utf-8")
    results = run(toml)
    rows = [(row.k, row.point, row.cells()[1]) for row in results.rows]
    own = "k=1,gamma=0.2,rounding=floor"
    assert rows == [(1, "k=1,rounding=floor", "1"), (3, "k=3,rounding=floor", "3"), (None, own, own)]
    assert len({row.details["trace"] for row in results.rows}) == 3
    # Five source words more before each target word: it comes to write later.
    assert results.rows[2].report.value("AL") > results.rows[0].report.value("AL")


@pytest.mark.slow
def test_curves_are_tested_against_a_baseline(toml: Path) -> None:
    told = 'history = [0, 9]\nresamples = 20\nbaseline = "h = 0"\nwindows = []\n'
    text = toml.read_text("utf-8").replace("windows = [0, 2]", "")
    toml.write_text(told + text, encoding="utf-8")
    results = run(toml)
    data = json.loads((results.folder / "results.json").read_text("utf-8"))
    tested = {(row["curve"], row["k"]): row.get("BLEU_p") for row in data["results"]}
    assert tested[("h = 0", 1)] is tested[("h = 0", 3)] is tested[("whole sentences, h = 9", None)] is None
    references = (results.folder / "toy-set/000.reference").read_text("utf-8").splitlines()
    reports = {(row.curve, row.k): row.report for row in results.rows if not row.offline}
    assert len(references) == len(reports[("h = 0", 1)].hypotheses)
    for k in (1, 3):
        base, other = reports[("h = 0", k)], reports[("h = 9", k)]
        assert paired_p_values(base.hypotheses, [other.hypotheses], references, 20) == [tested[("h = 9", k)]]
    assert "(p = " in (results.folder / "results.md").read_text("utf-8")


def test_published_outputs_are_scored_in_words_as_ours_are(tmp_path: Path) -> None:
    (tmp_path / "source.de").write_text("ein kleiner satz\nnoch einer\n", encoding="utf-8")
    (tmp_path / "reference.en").write_text("A small sentence.\nOne more.\n", encoding="utf-8")
    for name in ("w1_k2", "w0_k1", "notes"):
        (tmp_path / name).mkdir()
    for name, actions in (("w1_k2", "R R R W R W R W W W W W"), ("w0_k1", "R W R W R W W R W R W W")):
        (tmp_path / name / "hypothesis.en").write_text("A small sentence . One more .\n", encoding="utf-8")
        (tmp_path / name / "actions").write_text(actions, encoding="utf-8")
    rows = score_published("toy", Published(tmp_path), recipe(tmp_path), ("de", "en"), 1)
    assert [(row.curve, row.k, row.ours) for row in rows] == [
        ("authors, w = 0", 1, False),
        ("authors, w = 1", 2, False),
    ]
    assert [row.report.value("BLEU") for row in rows] == pytest.approx([100.0, 100.0])
    # A full stop comes with the word before it. |y| = 3 and 2 words, |x| = 3 and 2: each word one source word late.
    assert rows[0].report.value("AL") == pytest.approx(1.0)
    assert "unit:word" in rows[0].report.signature
    assert (rows[0].words, rows[0].reference_words) == (5, 5)


def test_published_outputs_that_are_not_there_are_said(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="expected folders wW_kK"):
        score_published("toy", Published(tmp_path / "nowhere"), recipe(tmp_path), ("de", "en"), 1)
