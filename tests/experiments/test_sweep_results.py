"""A whole sweep: its figures are those of its traces, and what is done is not done again."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.experiments.test_sweep import model, recipe
from turia.cli import main
from turia.config import Published
from turia.errors import FormatError, InputError
from turia.evaluation.inputs import load_streams
from turia.evaluation.options import EvaluationOptions
from turia.evaluation.quality import paired_p_values
from turia.evaluation.report import evaluate
from turia.experiments.sweep import Configuration, configurations
from turia.experiments.sweep_results import Results, curve_names, score_published, sweep
from turia.export.random_model import made_up_words
from turia.policy.holdn import HoldN
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole
from turia.stream.trace import parse_trace


def test_curves_are_named_by_what_differs() -> None:
    segmented = [Configuration(2, WaitK(4), 60), Configuration(None, WaitK(4), 60), Configuration(None, Whole(), 60)]
    assert list(curve_names(segmented).values()) == ["w = 2", "oracle segments", "whole sentences"]
    histories = [Configuration(None, WaitK(4), 0), Configuration(None, WaitK(4), 60), Configuration(None, Whole(), 60)]
    assert list(curve_names(histories).values()) == ["h = 0", "h = 60", "whole sentences, h = 60"]
    variants = [Configuration(None, WaitK(4), 60), Configuration(None, WaitK(4), 60, "full", True, 4)]
    assert list(curve_names(variants).values()) == ["incremental, cached, greedy", "full, recomputed, beam 4"]


def test_other_policies_are_curves_beside_wait_k() -> None:
    chosen = recipe(Path("x"), k=(4,), policies=("hold-n:n=1", "hold-n:n=3"), windows=(2,), oracle=False, beam=(1,))
    found = configurations(chosen, model())
    assert [one.policy for one in found] == [WaitK(4), HoldN(1), HoldN(3), Whole()]
    assert [one.name() for one in found] == [
        "w2-k4-h40",
        "w2-hold-n-n-1-h40",
        "w2-hold-n-n-3-h40",
        "oracle-offline-h40",
    ]
    assert list(curve_names(found).values()) == [
        "w = 2, wait-k",
        "w = 2, hold-n",
        "w = 2, hold-n",
        "whole sentences",
    ]


@pytest.fixture(autouse=True)
def no_plots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sweep is plotted, where the plots are looked at: they take longer than all of its translations."""
    if request.node.name != test_a_sweep_scores_its_traces.__name__:
        monkeypatch.setattr("turia.experiments.sweep_results.draw", lambda rows, stem, dal_scale: [])


@pytest.fixture
def toml(tmp_path: Path, model_folder: Path) -> Path:
    words = made_up_words()
    lines = [
        f"talk {i // 18}\t{' '.join(words[i : i + 6])}\t{' '.join(words[i + 9 : i + 15])}." for i in range(0, 30, 6)
    ]
    (tmp_path / "set.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "sweep-toy.toml"
    path.write_text(
        f"""
        folder = "out"
        models = [{json.dumps(str(model_folder))}]
        k = [1, 3]
        windows = [0, 2]
        batch = 4
        [[test]]
        name = "toy set"
        corpus = {{ path = "set.tsv" }}
        """,
        encoding="utf-8",
    )
    return path


def run(path: Path, processes: int = 1, fresh: bool = False) -> Results:
    return sweep(path, lambda share, detail: None, processes, fresh)


def traces(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.jsonl"))}


def moments(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in sorted(folder.rglob("*.jsonl"))}


def test_a_sweep_scores_its_traces(toml: Path) -> None:
    results = run(toml)
    data = json.loads((results.folder / "results.json").read_text("utf-8"))
    assert [(row["curve"], row["k"]) for row in data["results"]] == [
        ("w = 0", 1), ("w = 0", 3), ("w = 2", 1), ("w = 2", 3), ("oracle segments", 1), ("oracle segments", 3),
        ("whole sentences", None),
    ]  # fmt: skip
    test = results.folder / "toy-set"
    for row in data["results"]:
        trace = results.folder / row["trace"] / "000.jsonl"
        report = evaluate(load_streams([test / "000.source"], [test / "000.reference"], [trace]), EvaluationOptions())
        assert {key: row[key] for key in report.as_json()} == report.as_json()
        # The command in the file gives the same, run where the file is.
        assert row["command"].split()[2:7:2] == ["--source", "--reference", "--trace"]
    files = data["models"][0]["sha256"][:12]
    assert {
        parse_trace(lines.decode().splitlines()).settings["files"] for lines in traces(results.folder).values()
    } == {files}
    page = (results.folder / "results.md").read_text("utf-8")
    assert page.count(f"|model:de-en|files:{files}|") == 1
    offline = parse_trace((test / "tiny/oracle-offline-h60/000.jsonl").read_text("utf-8").splitlines())
    assert set(offline.delays()) <= {6, 12, 18, 24, 30}
    assert data["models"][0]["name"] == "tiny"
    assert data["recipe"]["k"] == [1, 3]
    assert data["tests"][0]["source_words"] == 30
    assert "toy set, h = 60" in (results.folder / "toy-set-k.svg").read_text("utf-8")
    for name in ("toy-set-latency.png", "toy-set-latency.svg", "toy-set-k.png", "results.md"):
        assert (results.folder / name).stat().st_size > 100


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


def test_results_can_be_published(toml: Path, model_folder: Path) -> None:
    """No folder of this machine is in them, but what the recipe itself says."""
    toml.write_text(toml.read_text("utf-8").replace(str(model_folder), f"./{model_folder.name}"), encoding="utf-8")
    (toml.parent / model_folder.name).symlink_to(model_folder)
    results = run(toml)
    for name in ("results.json", "results.md"):
        assert str(toml.parent) not in (results.folder / name).read_text("utf-8")


def test_what_is_done_is_not_done_again(toml: Path) -> None:
    first = run(toml)
    before, said = moments(first.folder), traces(first.folder)
    assert len(before) == 7
    lost = first.folder / "toy-set/tiny/w2-k1-h60"
    (lost / "configuration.json").unlink()  # as if it had been interrupted
    again = run(toml)
    after = moments(again.folder)
    assert [name for name in before if before[name] != after[name]] == ["toy-set/tiny/w2-k1-h60/000.jsonl"]
    assert traces(again.folder) == said
    assert again.rows == first.rows
    run(toml, fresh=True)
    assert not set(moments(first.folder).items()) & set(after.items())
    assert traces(again.folder) == said


def test_traces_of_older_releases_get_the_files_that_they_are_of(toml: Path) -> None:
    first = run(toml)
    for path in first.folder.rglob("*.jsonl"):
        text = path.read_text("utf-8")
        path.write_text(re.sub(r'"files":"\w+",', "", text, count=1), encoding="utf-8")
    assert run(toml).rows == first.rows


def test_other_streams_are_translated_anew(toml: Path) -> None:
    before = moments(run(toml).folder)
    toml.write_text("sentences = 3\n" + toml.read_text("utf-8"), encoding="utf-8")
    results = run(toml)
    assert not set(moments(results.folder).items()) & set(before.items())
    assert {row.report.sentences for row in results.rows} == {3}


def test_processes_change_nothing_in_the_traces(toml: Path) -> None:
    toml.write_text('streams = "documents"\n' + toml.read_text("utf-8"), encoding="utf-8")
    alone = run(toml)
    assert {row.report.streams for row in alone.rows} == {2}
    expected = traces(alone.folder)
    assert run(toml, processes=2, fresh=True).rows == alone.rows
    assert traces(alone.folder) == expected


def test_bounds_are_run_offline_only_and_named_by_their_model(toml: Path, tmp_path: Path) -> None:
    from turia.export.random_model import write_random_folder

    (tmp_path / "bare").mkdir()  # without a segmenter, which a bound does not need
    write_random_folder(tmp_path / "bare", "tiny", languages=("de", "en"), vocabulary=500)
    toml.write_text('bounds = ["bare"]\n' + toml.read_text("utf-8"), encoding="utf-8")
    results = run(toml)
    assert [(row.system, row.curve, row.offline) for row in results.rows[5:]] == [
        ("tiny", "oracle segments", False),
        ("tiny", "whole sentences", True),
        ("bare", "bare", True),
    ]
    assert sorted(path.name for path in (results.folder / "toy-set/bare").iterdir()) == ["oracle-offline-h60"]
    trace = (results.folder / "toy-set/bare/oracle-offline-h60/000.jsonl").read_text("utf-8")
    assert set(parse_trace(trace.splitlines()).delays()) <= {6, 12, 18, 24, 30}
    data = json.loads((results.folder / "results.json").read_text("utf-8"))
    assert [model["name"] for model in data["models"]] == ["tiny", "bare"]
    page = (results.folder / "results.md").read_text("utf-8")
    assert "bare (`" in page
    assert page.count("|model:de-en|") == 1, "the sums of several models are told above, once"


def test_models_that_are_run_with_wait_k_only_need_no_heads(toml: Path, model_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(model_folder, tmp_path / "other")
    changed = 'windows = []\noffline = false\npolicies = ["hold-n:n=1"]\nwait_k_models = ["other"]'
    text = toml.read_text(encoding="utf-8").replace("windows = [0, 2]", changed)
    toml.write_text(text, encoding="utf-8")
    rows = sweep(toml, lambda share, what: None).rows
    assert [(row.system, row.k) for row in rows] == [
        ("tiny", 1),
        ("tiny", 3),
        ("tiny", None),
        ("other", 1),
        ("other", 3),
    ]


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


def test_a_baseline_that_is_no_curve_is_refused_before_any_work(toml: Path) -> None:
    toml.write_text('resamples = 20\nbaseline = "h = 0"\n' + toml.read_text("utf-8"), encoding="utf-8")
    with pytest.raises(InputError, match="one of the curves or policies: w = 0; w = 2; oracle segments; wait-k"):
        run(toml)
    assert not (toml.parent / "out/toy-set/tiny").exists()


def test_the_command_prints_a_table(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(toml), "--processes", "1"]) == 0
    printed = capsys.readouterr()
    assert "oracle segments" in printed.out
    assert "scoring" in printed.err
    toml.write_text("windws = [1]\n" + toml.read_text("utf-8"), encoding="utf-8")
    assert main(["sweep", str(toml)]) == 2
    assert "did you mean 'windows'?" in capsys.readouterr().err


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
