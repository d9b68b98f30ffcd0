"""Preparation end to end: the same bytes however it went, and nothing done twice."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import resource
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from turia.cli import main
from turia.config import Corpus, Data, Filters, ModelSettings, Recipe, Windows
from turia.config import SubwordSettings as SubwordSettings
from turia.corpus import prepare as module
from turia.corpus.filters import Dropped
from turia.corpus.prepare import digest, prepare
from turia.corpus.report import PrepareProgress, PrepareReport, read_report
from turia.corpus.shards import CLOSES, OPENS, WINDOW, Shards, load_subwords
from turia.errors import ConfigError, FormatError, ResourceError
from turia.system import files
from turia.text.known_words import FILES as WORD_FILES
from turia.text.known_words import read_words
from turia.text.normalise import clean
from turia.text.subwords import Subwords

GERMAN = clean("das haus ist groß und das auto ist klein wir gehen heute nach hause weil es regnet")
ENGLISH = clean("the house is big and the car is small we are going home today because it is raining")


def talk(document: int, sentences: int) -> str:
    """Sentences of varied length, none like another."""
    lines = []
    for n in range(sentences):
        words = 3 + (document + n) % 5
        source = " ".join(GERMAN[(n + i) % len(GERMAN)] for i in range(words))
        target = " ".join(ENGLISH[(n + i) % len(ENGLISH)] for i in range(words + 1))
        lines.append(f"{document}\t{source.capitalize()} {document}-{n}.\t{target.capitalize()} {document}-{n}.\n")
    return "".join(lines)


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """Small chunks, so that there are several."""
    monkeypatch.setattr(module, "_PAIRS_PER_CHUNK", 8)
    monkeypatch.setattr(module, "_STEPS_TOLD", 1)
    (tmp_path / "train.tsv").write_text("".join(talk(n, 5) for n in range(8)), encoding="utf-8")
    (tmp_path / "alone.tsv").write_text(talk(20, 6), encoding="utf-8")
    (tmp_path / "dev.tsv").write_text(talk(30, 4), encoding="utf-8")
    data = Data(
        folder=tmp_path / "data",
        train=(Corpus(tmp_path / "train.tsv"), Corpus(tmp_path / "alone.tsv", context=False)),
        dev=(Corpus(tmp_path / "dev.tsv"),),
    )
    return Recipe(
        source_language="de",
        target_language="en",
        data=data,
        filters=Filters(language=False),
        subwords=SubwordSettings(vocabulary=320),
        windows=Windows(history=10),
        model=ModelSettings(max_positions=128),
    )


def fingerprint(folder: Path) -> dict[str, str]:
    """sha256 of every file in the data folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def elsewhere(recipe: Recipe, folder: Path) -> Recipe:
    return replace(recipe, data=replace(recipe.data, folder=folder))


def run(recipe: Recipe, processes: int = 1) -> tuple[PrepareReport, list[PrepareProgress]]:
    told: list[PrepareProgress] = []
    return prepare(recipe, told.append, processes), told


def words(recipe: Recipe, split: str) -> Iterator[tuple[str, str]]:
    shards = Shards.open(recipe.data.folder / split)
    source, target = load_subwords(recipe.data.folder)
    for index in range(len(shards)):
        left, right = shards.sentence(index)
        yield " ".join(source.decode_words(left.ids)), " ".join(target.decode_words(right.ids))


def test_text_comes_out_as_it_went_in(recipe: Recipe) -> None:
    report, _ = run(recipe)
    lines = (recipe.data.folder.parent / "train.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    expected = [(source.lower().rstrip("."), target) for _, source, target in rows]
    assert list(words(recipe, "train"))[: len(rows)] == expected
    assert len(list(words(recipe, "dev"))) == 4
    assert [corpus.read for corpus in report.corpora] == [40, 6, 4]
    assert report.train.sentences == 46
    assert all(corpus.dropped == Dropped() for corpus in report.corpora)


def test_words_that_the_languages_have_are_listed(recipe: Recipe) -> None:
    run(recipe)
    source, target = (read_words(recipe.data.folder / name) for name in WORD_FILES)
    lines = [line.lower() for name in ("train", "alone") for line in (recipe.data.folder.parent / f"{name}.tsv").open()]
    sides = [[line.split("\t")[side].split()[:-1] for line in lines] for side in (1, 2)]
    for found, side in zip((source, target), sides, strict=True):
        counts = Counter(word for line in side for word in line)
        assert found == {word for word, count in counts.items() if count > 1}
    assert {"haus", "klein"} < source
    assert {"house", "small"} < target


def test_subwords_that_were_learned_before_words_were_listed_are_enough(recipe: Recipe) -> None:
    """An older release was interrupted."""
    run(recipe)
    for name in WORD_FILES:
        (recipe.data.folder / name).unlink()
    with pytest.raises(InterruptedHereError):
        prepare(replace(recipe, seed=2, subwords=SubwordSettings(vocabulary=330)), stop_at("encode", 1), 1)
    [work] = recipe.data.folder.glob("work-*")
    for name in WORD_FILES:
        (work / name).unlink()
    prepare(replace(recipe, seed=2, subwords=SubwordSettings(vocabulary=330)), processes=1)
    assert not [name for name in WORD_FILES if (recipe.data.folder / name).exists()]


def test_gamma_is_target_words_over_source_words(recipe: Recipe) -> None:
    report, _ = run(recipe)
    pairs = list(words(recipe, "train"))
    source, target = (sum(len(pair[side].split()) for pair in pairs) for side in (0, 1))
    assert report.gamma == round(target / source, 4) > 1
    for split in ("train", "dev"):
        assert Shards.open(recipe.data.folder / split).meta.gamma == report.gamma


def test_gamma_counts_a_corpus_as_often_as_it_is_trained_on(recipe: Recipe) -> None:
    first, *others = recipe.data.train
    repeated = replace(recipe, data=replace(recipe.data, train=(replace(first, repeat=3), *others)))
    report, _ = run(repeated)
    sizes = [corpus.sizes for corpus in report.corpora if corpus.split == "train"]
    target = 3 * sizes[0].target_words + sum(size.target_words for size in sizes[1:])
    source = 3 * sizes[0].source_words + sum(size.source_words for size in sizes[1:])
    assert report.gamma == round(target / source, 4)
    assert report.gamma != round(report.train.target_words / report.train.source_words, 4)


def test_windows_are_whole_documents_in_order(recipe: Recipe) -> None:
    """Every sentence of the talks lies in one window; talks open and close; the corpus without context has none."""
    run(recipe)
    samples = Shards.open(recipe.data.folder / "train").samples.tolist()
    windows = [row for row in samples if row[2] & WINDOW]
    singles = [row for row in samples if not row[2] & WINDOW]
    assert [i for first, count, _ in windows for i in range(first, first + count)] == list(range(40))
    assert sorted(first for first, _, flags in windows if flags & OPENS) == [5 * n for n in range(8)]
    assert sorted(first + count for first, count, flags in windows if flags & CLOSES) == [5 * n + 5 for n in range(8)]
    assert [first for first, count, _ in singles] == list(range(46))
    assert all(flags == OPENS | CLOSES for first, _, flags in singles if first >= 40)


@pytest.mark.slow
def test_two_processes_give_the_bytes_of_one(recipe: Recipe, tmp_path: Path) -> None:
    run(recipe)
    other = elsewhere(recipe, tmp_path / "other")
    run(other, processes=2)
    assert fingerprint(recipe.data.folder) == fingerprint(tmp_path / "other")


class InterruptedHereError(Exception):
    """Stands for whatever stops a preparation."""


def stop_at(stage: str, done: int) -> Callable[[PrepareProgress], None]:
    def stop(progress: PrepareProgress) -> None:
        if (progress.stage, progress.done) == (stage, done):
            raise InterruptedHereError

    return stop


@pytest.mark.parametrize(("stage", "done"), [("clean", 1), ("clean", 6), ("learn", 5), ("encode", 1), ("encode", 6)])
def test_an_interrupted_preparation_goes_on(recipe: Recipe, tmp_path: Path, stage: str, done: int) -> None:
    whole = elsewhere(recipe, tmp_path / "whole")
    run(whole)
    with pytest.raises(InterruptedHereError):
        prepare(recipe, stop_at(stage, done), processes=1)
    (work,) = recipe.data.folder.glob("work-*")
    finished = {path: path.stat().st_mtime_ns for path in work.glob("*-0*")}
    assert len(finished) >= done
    assert not (recipe.data.folder / "report.json").exists()
    told: list[PrepareProgress] = []
    left: dict[Path, int] = {}

    def look(progress: PrepareProgress) -> None:
        told.append(progress)
        left.update({path: path.stat().st_mtime_ns for path in finished if path.exists()})

    prepare(recipe, look, processes=1)
    assert left == finished
    assert told[0].note.startswith("going on with an interrupted preparation")
    assert fingerprint(recipe.data.folder) == fingerprint(tmp_path / "whole")


@pytest.mark.parametrize("moment", ["train", "dev", "subwords.model", "report.json"])
def test_killed_while_joining_it_goes_on(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The worst moments: one of its files is written and not in place, beside what another recipe has left."""
    whole = elsewhere(recipe, tmp_path / "whole")
    run(whole)
    run(replace(recipe, subwords=replace(recipe.subwords, vocabulary=330)))
    killed = tmp_path / "killed"
    put_in_place = files._put_in_place

    def as_if_killed(new: Path, path: Path, old: Path) -> None:
        if path == recipe.data.folder / moment:
            shutil.copytree(recipe.data.folder, killed)
        put_in_place(new, path, old)

    def half_saved(subwords: Subwords, path: Path) -> None:
        path.write_bytes(subwords.model[:100])
        if path == recipe.data.folder / moment:
            shutil.copytree(recipe.data.folder, killed)
        path.write_bytes(subwords.model)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_put_in_place", as_if_killed)
        patched.setattr(Subwords, "save", half_saved)
        run(recipe)
    assert len(list(killed.glob(f".{moment}.*.partial/new"))) == (moment != "subwords.model")
    assert not (killed / "report.json").exists()
    _, told = run(elsewhere(recipe, killed))
    assert told[0].note.startswith("going on with an interrupted preparation")
    assert fingerprint(killed) == fingerprint(tmp_path / "whole")


def test_the_same_recipe_again_has_nothing_to_do(recipe: Recipe) -> None:
    first, _ = run(recipe)
    before = {path: path.stat().st_mtime_ns for path in recipe.data.folder.rglob("*")}
    licensed = [dataclasses.replace(corpus, licence="CC0") for corpus in recipe.data.train]  # not in the shards
    recipe = dataclasses.replace(recipe, data=dataclasses.replace(recipe.data, train=tuple(licensed)))
    second, told = run(recipe)
    assert second == first
    assert [progress.note for progress in told] == [f"{recipe.data.folder} is up to date: nothing to do"]
    assert {path: path.stat().st_mtime_ns for path in recipe.data.folder.rglob("*")} == before


def test_a_changed_recipe_is_prepared_anew(recipe: Recipe) -> None:
    run(recipe)
    before = fingerprint(recipe.data.folder)
    _, told = run(replace(recipe, windows=Windows(history=4)))
    assert told[0].note.startswith("the recipe or its corpora have changed")
    after = fingerprint(recipe.data.folder)
    assert after["train/samples.npy"] != before["train/samples.npy"]
    assert after["train/source.ids.npy"] == before["train/source.ids.npy"]


def test_a_changed_corpus_is_prepared_anew(recipe: Recipe) -> None:
    run(recipe)
    assert recipe.data.dev[0].path is not None
    recipe.data.dev[0].path.write_text(talk(30, 3), encoding="utf-8")
    report, told = run(recipe)
    assert told[0].note.startswith("the recipe or its corpora have changed")
    assert report.dev.sentences == 3


@pytest.mark.parametrize("lost", ["train/meta.json", "dev/meta.json", "subwords.model", "source.subwords.model"])
def test_a_folder_that_lost_something_is_filled_again(recipe: Recipe, lost: str) -> None:
    joint = not lost.startswith("source")
    recipe = replace(recipe, subwords=replace(recipe.subwords, joint=joint))
    run(recipe)
    before = fingerprint(recipe.data.folder)
    (recipe.data.folder / lost).unlink()
    run(recipe)
    assert fingerprint(recipe.data.folder) == before


def test_what_decides_the_digest(recipe: Recipe, tmp_path: Path) -> None:
    moved = tmp_path / "moved.tsv"
    assert recipe.data.train[0].path is not None
    shutil.copy(recipe.data.train[0].path, moved)
    same = [
        elsewhere(recipe, tmp_path / "other"),
        replace(recipe, run=tmp_path / "run", seed=7),
        replace(recipe, windows=replace(recipe.windows, sentences_per_window=1.0)),
        replace(recipe, data=replace(recipe.data, train=(Corpus(moved), *recipe.data.train[1:]))),
    ]
    other = [
        replace(recipe, source_language="en", target_language="de"),
        replace(recipe, filters=replace(recipe.filters, max_words=7)),
        replace(recipe, subwords=replace(recipe.subwords, vocabulary=321)),
        replace(recipe, windows=replace(recipe.windows, kind="sliding")),
        replace(recipe, model=replace(recipe.model, max_positions=64)),
        replace(recipe, data=replace(recipe.data, train=recipe.data.train[:1])),
    ]
    assert {digest(changed) for changed in same} == {digest(recipe)}
    assert len({digest(changed) for changed in other} - {digest(recipe)}) == len(other)


def test_filters_are_for_training_alone_and_are_counted(recipe: Recipe, tmp_path: Path) -> None:
    bad = "1\tja\tyes\n1\tja\tyes I do think so indeed\n1\t–\tno\n1\tGr\ufffdße\tgreetings\n1\tja\tyes\n"
    for corpus in (*recipe.data.train, *recipe.data.dev):
        assert corpus.path is not None
        corpus.path.write_text(bad, encoding="utf-8")
    report, _ = run(replace(recipe, filters=Filters(language=False, duplicates=1), windows=Windows(history=4)))
    talks, alone, dev = report.corpora
    # The pair `ja - yes` is there four times; the first stays, one is kept for windows, two are dropped.
    assert talks.dropped == Dropped(length=1, ratio=1, unreadable=1)
    assert (talks.sizes.sentences, talks.repeats) == (2, 1)
    assert alone.dropped == Dropped(length=1, ratio=1, unreadable=1, duplicate=2)
    assert alone.sizes.sentences == 0
    assert dev.dropped == Dropped(length=1)
    assert dev.sizes.sentences == 4
    assert read_report(recipe.data.folder) == report


def test_two_vocabularies(recipe: Recipe) -> None:
    report, _ = run(replace(recipe, subwords=SubwordSettings(vocabulary=320, joint=False)))
    source, target = load_subwords(recipe.data.folder)
    assert source.model != target.model
    meta = Shards.open(recipe.data.folder / "train").meta
    assert meta.source_subwords == hashlib.sha256(source.model).hexdigest()
    assert meta.target_subwords == hashlib.sha256(target.model).hexdigest()
    assert len(list(words(recipe, "train"))) == report.train.sentences
    run(recipe)
    assert [path.name for path in recipe.data.folder.glob("*.model")] == ["subwords.model"]


def test_without_dev_corpora_there_is_no_dev_folder(recipe: Recipe) -> None:
    run(recipe)
    run(replace(recipe, data=replace(recipe.data, dev=())))
    assert not (recipe.data.folder / "dev").exists()


def test_what_cannot_be_prepared_is_said_in_one_line(recipe: Recipe, tmp_path: Path) -> None:
    without = replace(recipe, data=replace(recipe.data, train=()))
    with pytest.raises(ConfigError, match=r"data\.train is empty"):
        run(without)
    missing = replace(recipe, data=replace(recipe.data, train=(Corpus(tmp_path / "gone.tsv"),)))
    with pytest.raises(ConfigError, match=r"gone\.tsv: cannot read the corpus: No such file"):
        run(missing)
    with pytest.raises(ConfigError, match="no words to learn subwords from"):
        run(replace(recipe, filters=replace(recipe.filters, min_words=90, max_words=99)))
    with pytest.raises(ConfigError, match="py3langid does not know toy"):
        run(replace(recipe, source_language="toy", filters=Filters(language=True)))
    with pytest.raises(ConfigError, match=r"no training pair is left.*positions 40"):
        run(replace(recipe, model=ModelSettings(max_positions=3)))
    (tmp_path / "broken.tsv").write_text(talk(0, 3) + "no tabs\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"broken\.tsv:4: expected 3 fields"):
        run(replace(recipe, data=replace(recipe.data, train=(Corpus(tmp_path / "broken.tsv"),))), processes=2)


def test_a_full_disk_is_said_in_one_line_and_work_is_kept(recipe: Recipe, tmp_path: Path) -> None:
    """A limit on file size stands for the disk: writing past it fails as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
    try:
        with pytest.raises(ResourceError, match="no space left; free some and run again"):
            run(recipe)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert any(recipe.data.folder.glob("work-*/train-00000.tsv"))
    run(recipe)
    whole = elsewhere(recipe, tmp_path / "whole")
    run(whole)
    assert fingerprint(recipe.data.folder) == fingerprint(tmp_path / "whole")


def test_one_folder_takes_one_preparation_at_a_time(recipe: Recipe) -> None:
    def meanwhile(_: PrepareProgress) -> None:
        with pytest.raises(ResourceError, match="another `turia prepare` is at work there"):
            run(recipe)

    prepare(recipe, meanwhile, processes=1)


RECIPE = """
source_language = "de"
target_language = "en"
[data]
folder = "data"
[[data.train]]
path = "train.tsv"
[filters]
language = false
[windows]
history = 10
"""


def test_the_command(recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE, encoding="utf-8")
    assert main(["prepare", str(path), "--processes", "1"]) == 0
    first = capsys.readouterr()
    assert "train.tsv: 40 pairs read, 40 kept" in first.out
    assert main(["prepare", str(path)]) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert "is up to date: nothing to do" in again.err
    path.write_text(RECIPE.replace("train.tsv", "gone.tsv"), encoding="utf-8")
    assert main(["prepare", str(path)]) == 2
    failed = capsys.readouterr()
    assert failed.err.startswith("error: ")
    assert failed.err.count("\n") == 1
    assert "gone.tsv: cannot read the corpus" in failed.err


def test_the_report_reads_well(recipe: Recipe) -> None:
    report, _ = run(recipe)
    lines = report.lines()
    assert lines[0].endswith("train.tsv: 40 pairs read, 40 kept")
    assert lines[-1].startswith(f"gamma {report.gamma}; ")
    assert json.loads((recipe.data.folder / "report.json").read_text())["digest"] == digest(recipe)


@pytest.mark.slow
def test_dev2010_and_its_window_figures(shared: Path, tmp_path: Path) -> None:
    """Real talks: every pair stays, windows cover each once, and no text is lost on the way."""
    talks = Corpus(shared / "data/ted/dev2010.tsv.xz")
    recipe = Recipe(
        "de",
        "en",
        data=Data(tmp_path, (talks,), (talks,)),
        subwords=SubwordSettings(1000),
        filters=Filters(max_words=500),
    )
    report, _ = run(recipe)
    assert report.dev.sentences == 888
    assert report.train.sentences >= 880
    samples = Shards.open(tmp_path / "dev").samples
    windows = samples[(samples[:, 2] & WINDOW) > 0]
    assert windows[:, 1].sum() == 888
    assert ((windows[:, 2] & OPENS) > 0).sum() == ((windows[:, 2] & CLOSES) > 0).sum() == 8


def notes(recipe: Recipe) -> list[str]:
    return [progress.note for progress in run(recipe)[1] if progress.note]


@pytest.mark.parametrize(("real", "told"), [(0, True), (1, True), (3, False)])
def test_ids_of_lines_are_not_taken_for_documents_without_a_word(recipe: Recipe, real: int, told: bool) -> None:
    """Nearly all documents have one pair: somebody left context on. It is prepared all the same."""
    path = recipe.data.folder.parent / "lines.tsv"
    path.write_text("".join(talk(40 + n, 1) for n in range(50)) + "".join(talk(n, 3) for n in range(real)), "utf-8")
    lines = replace(recipe, data=replace(recipe.data, train=(*recipe.data.train, Corpus(path))))
    (said,) = notes(lines) if told else [*notes(lines), ""]
    name = f"{path.parent.name}/lines.tsv"
    assert not told or said.startswith(
        f"train {name}: {50 + real} documents for {50 + 3 * real} pairs, so its windows have no history"
    )
    assert said.endswith("set context = false") == told
    assert Shards.open(recipe.data.folder / "train").meta.sizes.sentences == 46 + 50 + 3 * real


@pytest.mark.parametrize(("pairs", "told"), [(1000, True), (999, False)])
def test_one_id_for_all_lines_is_not_taken_for_a_document_without_a_word(
    recipe: Recipe, pairs: int, told: bool
) -> None:
    path = recipe.data.folder.parent / "lines.tsv"
    path.write_text(talk(40, pairs), "utf-8")
    lines = replace(recipe, data=replace(recipe.data, train=(*recipe.data.train, Corpus(path))))
    assert notes(lines) == told * [
        f"train {path.parent.name}/lines.tsv: 1 document for 1000 pairs, so each line is the history of the next; "
        "if its lines do not follow one another, set context = false"
    ]


def test_who_says_that_there_are_no_documents_is_not_asked(recipe: Recipe, tmp_path: Path) -> None:
    path = tmp_path / "lines.tsv"
    path.write_text("".join(talk(40 + n, 1) for n in range(50)), "utf-8")
    data = replace(recipe.data, train=(*recipe.data.train, Corpus(path, context=False)))
    assert notes(replace(recipe, data=data)) == []
    single = replace(recipe, data=replace(data, train=(Corpus(path),)), windows=Windows(history=0))
    assert notes(elsewhere(single, tmp_path / "single")) == []
