"""A sweep translates what it should, once, and its figures are those of its traces."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.engine.fakes import WORDS, Chaos, Echo, Fake, fake_model
from turia.cli import main
from turia.config import OFFLINE_K, Corpus, Published, SweepRecipe, SweepTest
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import ConfigError, FormatError, InputError
from turia.evaluation.inputs import load_streams
from turia.evaluation.options import Options
from turia.evaluation.quality import paired_p_values
from turia.evaluation.report import evaluate
from turia.interop.sweep import (
    Configuration,
    Job,
    SweptModel,
    configurations,
    plan,
    translate_all,
    write_streams,
)
from turia.interop.sweep_results import Results, curve_names, score_published, sweep
from turia.runtime.random_model import made_up_words
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Trace, parse_trace
from turia.typed import from_dict


def recipe(folder: Path, **keys: object) -> SweepRecipe:
    return SweepRecipe(folder, (SweepTest("toy set", Corpus()),), **keys)  # type: ignore[arg-type]


def model() -> SweptModel:
    return SweptModel("toy", Path("toy"), 40, 3, "", "xx", "yy", windows=(0, 1, 2, 3, 4))


def test_configurations_are_the_product_with_oracle_and_offline() -> None:
    found = configurations(recipe(Path("x"), k=(1, 4), windows=(0, 2), history=(0, 60), beam=(1,)), model())
    own = [(one.window, one.k) for one in found if one.history == 60]
    assert own == [(0, 1), (0, 4), (2, 1), (2, 4), (None, 1), (None, 4), (None, OFFLINE_K)]
    assert [one.history for one in found] == [0] * 7 + [60] * 7
    assert len({one.name() for one in found}) == 14
    assert found[0].name() == "w0-k1-h0"
    assert found[-1].name() == "oracle-offline-h60"


def test_without_history_or_beam_the_model_s_own_is_taken() -> None:
    (only,) = configurations(recipe(Path("x"), k=(), windows=()), model())
    assert only == Configuration(None, OFFLINE_K, 40, beam=3)


def test_every_variant_has_a_folder_of_its_own() -> None:
    found = configurations(
        recipe(Path("x"), encoding=("incremental", "full"), recompute=(False, True), beam=(1, 4)), model()
    )
    assert len({one.name() for one in found}) == len(found) == 8 * (5 * 6 + 1)


def test_curves_are_named_by_what_differs() -> None:
    segmented = [Configuration(2, 4, 60), Configuration(None, 4, 60), Configuration(None, OFFLINE_K, 60)]
    assert list(curve_names(segmented).values()) == ["w = 2", "oracle segments", "whole sentences"]
    histories = [Configuration(None, 4, 0), Configuration(None, 4, 60), Configuration(None, OFFLINE_K, 60)]
    assert list(curve_names(histories).values()) == ["h = 0", "h = 60", "whole sentences, h = 60"]
    variants = [Configuration(None, 4, 60), Configuration(None, 4, 60, "full", True, 4)]
    assert list(curve_names(variants).values()) == ["incremental, cached, greedy", "full, recomputed, beam 4"]


@pytest.mark.parametrize(
    ("keys", "cause"),
    [
        ({"k": [], "offline": False}, "nothing to translate"),
        ({"models": []}, "models is empty"),
        ({"models": ["a/de-en", "b/de-en"]}, "two models have one name"),
        ({"models": ["a/de-en"], "bounds": ["b/de-en"]}, "two models have one name"),
        ({"resamples": 1}, "resamples is 1"),
        ({"baseline": "w = 0"}, "baseline is set, but resamples is 0"),
        ({"test": [{"name": "x", "corpus": {}}, {"name": "x", "corpus": {}}]}, "two test sets have one name"),
        ({"test": [{"name": "a b", "corpus": {}}, {"name": "a-b", "corpus": {}}]}, "names that make one folder"),
        ({"windows": [-1]}, r"windows\[0\] is -1"),
        ({"k": [4, 1000]}, "k of 1000 words or more reads whole sentences"),
        ({"k": [4, 8, 4]}, r"k is \[4, 8, 4\], expected each value once"),
        ({"history": [60, 60]}, "history is .* expected each value once"),
        ({"recompute": [True, True]}, "recompute is .* expected each value once"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(keys: dict[str, object], cause: str) -> None:
    with pytest.raises(ConfigError, match=cause):
        from_dict(SweepRecipe, {"folder": "x", "test": [{"name": "toy", "corpus": {}}], **keys})


# --- translating ------------------------------------------------------------------------------------------------------


def speeches() -> list[tuple[list[str], list[int], int]]:
    """Words, lengths of sentences, k: of different lengths, so that streams end at different times."""
    return [
        ([WORDS[(7 * i + number) % len(WORDS)] for i in range(5 * (number + 1))], [5] * (number + 1), number + 1)
        for number in range(5)
    ]


def jobs(backend: Fake) -> list[Job]:
    model = fake_model(backend)

    def begin(lengths: Sequence[int], k: int) -> Callable[[], Stream]:
        return lambda: Stream(model, GivenSegmenter(lengths), Settings(k=k))

    return [Job(begin(lengths, k), words) for words, lengths, k in speeches()]


def alone(backend: Fake) -> list[Trace]:
    traces = []
    for job in jobs(backend):
        stream = job.begin()
        records = [record for word in job.words for record in stream.push(word)] + stream.flush()
        traces.append(Trace(stream.header(), tuple(records)))
    return traces


@pytest.mark.parametrize("together", [1, 2, 3, 64])
@pytest.mark.parametrize("kind", [Echo, Chaos])
def test_streams_write_together_what_they_write_alone(together: int, kind: type[Fake]) -> None:
    backend = kind()
    told: list[int] = []
    traces = translate_all(jobs(backend), backend, together, told.append)
    assert traces == alone(kind())
    assert sum(told) == sum(len(words) for words, _, _ in speeches())
    assert max(backend.batches) == min(together, 5)


def test_no_stream_is_begun_after_one_has_failed() -> None:
    backend = Echo()
    given = jobs(backend)
    begun: list[int] = []

    def begin(number: int) -> Stream:
        begun.append(number)
        return given[number].begin()

    words = [["ka"] * 6, given[1].words, *(job.words for job in given[2:])]  # one more than its sentences have
    counted = [Job(partial(begin, number), words[number]) for number in range(len(given))]
    with pytest.raises(InputError, match="more words than the 5"):
        translate_all(counted, backend, 2, lambda _: None)
    assert begun == [0, 1]


# --- test sets --------------------------------------------------------------------------------------------------------

TSV = "one\tEin Satz.\tA sentence.\none\tNoch – einer.\tOne more.\ntwo\tDer letzte.\tThe last.\n"


def corpus(folder: Path, text: str = TSV) -> SweepTest:
    path = folder / "set.tsv"
    path.write_text(text, encoding="utf-8")
    return SweepTest("toy set", Corpus(path=path))


def test_a_test_set_is_one_stream_of_words_as_written(tmp_path: Path) -> None:
    written = write_streams(corpus(tmp_path), recipe(tmp_path / "out"), "de", "en")
    assert [path.read_text("utf-8") for path in written.sources] == ["Ein Satz.\nNoch – einer.\nDer letzte.\n"]
    assert [path.read_text("utf-8") for path in written.references] == ["A sentence.\nOne more.\nThe last.\n"]
    assert (written.sentences, written.source_words) == (3, 7)


def test_or_a_stream_for_each_document(tmp_path: Path) -> None:
    written = write_streams(corpus(tmp_path), recipe(tmp_path / "out", streams="documents"), "en", "de")
    assert [path.read_text("utf-8") for path in written.sources] == ["A sentence.\nOne more.\n", "The last.\n"]


def test_the_first_sentences_alone(tmp_path: Path) -> None:
    keys = {"streams": "documents", "sentences": 1}
    written = write_streams(corpus(tmp_path), recipe(tmp_path / "out", **keys), "de", "en")
    assert [path.read_text("utf-8") for path in written.sources] == ["Ein Satz.\n"]


def test_streams_are_known_by_their_content(tmp_path: Path) -> None:
    def digest(text: str, **keys: object) -> str:
        return write_streams(corpus(tmp_path, text), recipe(tmp_path / "out", **keys), "de", "en").sha256

    assert digest(TSV) == digest(TSV)
    assert digest(TSV) != digest(TSV.replace("Ein", "ein"))
    assert digest(TSV) != digest(TSV, streams="documents")


def test_a_sentence_without_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"set\.tsv: a sentence without source words"):
        write_streams(corpus(tmp_path, "one\t\tNothing.\n"), recipe(tmp_path / "out"), "de", "en")


# --- whole sweeps -----------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_plots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sweep is plotted, where the plots are looked at: they take longer than all of its translations."""
    if request.node.name != test_a_sweep_scores_its_traces.__name__:
        monkeypatch.setattr("turia.interop.sweep_results.draw", lambda rows, stem, dal_scale: [])


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
        report = evaluate(load_streams([test / "000.source"], [test / "000.reference"], [trace]), Options())
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


def test_a_model_without_segmenter_is_refused_before_any_work(toml: Path, model_folder: Path, tmp_path: Path) -> None:
    from turia.runtime.random_model import write_random_folder

    bare = tmp_path / "bare"
    bare.mkdir()
    write_random_folder(bare, "tiny", vocabulary=500)
    with pytest.raises(InputError, match=r"no segmenter of 0 future words .*or to \[\]"):
        plan(SweepRecipe(tmp_path / "out", (corpus(tmp_path),), models=("bare",)), tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("keys", "cause"),
    [
        ({"beam": (1, 65)}, "beam is 65, expected a whole number from 1 to 64"),
        ({"gamma": 11.0}, r"gamma is 11\.0, expected 0\.1 to 10"),
        ({"history": (0, 2_000_000)}, "history is 2000000, expected a whole number"),
    ],
)
def test_what_no_stream_can_have_is_refused_before_any_work(
    model_folder: Path, tmp_path: Path, keys: dict[str, object], cause: str
) -> None:
    with pytest.raises(ConfigError, match=cause):
        plan(recipe(tmp_path / "out", models=(str(model_folder),), **keys), tmp_path)


def test_bounds_are_run_offline_only_and_named_by_their_model(toml: Path, tmp_path: Path) -> None:
    from turia.runtime.random_model import write_random_folder

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
    with pytest.raises(InputError, match="expected one of the curves: w = 0; w = 2; oracle segments"):
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


# --- published outputs ------------------------------------------------------------------------------------------------


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
    assert [row.report.bleu.value for row in rows] == pytest.approx([100.0, 100.0])
    # A full stop comes with the word before it. |y| = 3 and 2 words, |x| = 3 and 2: each word one source word late.
    assert rows[0].report.al == pytest.approx(1.0)
    assert "unit:word" in rows[0].report.signature
    assert (rows[0].words, rows[0].reference_words) == (5, 5)


def test_published_outputs_that_are_not_there_are_said(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="expected folders wW_kK"):
        score_published("toy", Published(tmp_path / "nowhere"), recipe(tmp_path), ("de", "en"), 1)


def test_a_window_that_a_segmenter_lacks_is_refused_before_anything_is_translated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turia.interop.sweep.swept_model", lambda name, *_: replace(model(), windows=(0, 2)))
    with pytest.raises(InputError, match=r"no segmenter of 3 future words \(it has: 0, 2\)"):
        plan(recipe(tmp_path, k=(4,), windows=(2, 3)), tmp_path)
