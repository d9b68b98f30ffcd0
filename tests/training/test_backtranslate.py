"""Back-translation: what is written, what is dropped, and that nothing is done twice."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.engine.fakes import WORDS
from turia.cli import main
from turia.config import Corpus, Data, Filters, ModelSettings, Recipe, SubwordSettings, Windows
from turia.corpus.backtranslated import Untranslated, read_backtranslation
from turia.corpus.monolingual import Text, read_texts
from turia.corpus.prepare import digest, prepare
from turia.corpus.shards import Shards
from turia.errors import ConfigError, FormatError, InputError, ModelError
from turia.model.sentences import Draw
from turia.runtime.card import card_corpora
from turia.system import files
from turia.training import backtranslate as module
from turia.training.backtranslate import BacktranslateJob, BacktranslateProgress, backtranslate
from turia.training.distributed import Ranks
from turia.training.loop import train
from turia.training.text_translator import Line

GREEDY = Draw()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Nine talks of some sentences, one of them empty."""
    path = tmp_path / "talks.tsv"
    talks = [
        " ".join(
            " ".join(WORDS[(7 * talk + 3 * n + i) % len(WORDS)].capitalize() for i in range(2 + (talk + n) % 4)) + "."
            for n in range(6)
        )
        for talk in range(9)
    ]
    talks[4] = ""
    path.write_text("".join(f"talk{number}\t{talk}\n" for number, talk in enumerate(talks)), encoding="utf-8")
    return path


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORDS_PER_PART", 40)


class Backwards:
    """A translator that says the words backwards, and is known to fail."""

    languages = ("en", "de")

    def __init__(self) -> None:
        self.seen: list[str] = []

    def lines(self, texts: Sequence[Text], dropped: Counter[str]) -> Iterator[Line]:
        for text in texts:
            self.seen.append(text.id)
            said = [sentence + "." for sentence in text.written.split(". ") if sentence]
            dropped["no_words"] += not said
            for place, sentence in enumerate(said):
                yield Line(text.id, sentence, sentence.split(), place == 0, place == len(said) - 1)

    def translate(self, lines: Sequence[Line], draw: Draw, seed: int, dropped: Counter[str]) -> list[list[str]]:
        dropped["loop"] += sum("loop" in line.words for line in lines)
        return [[] if "loop" in line.words else [word.upper() for word in reversed(line.words)] for line in lines]


@pytest.fixture
def backwards(monkeypatch: pytest.MonkeyPatch) -> Backwards:
    fake = Backwards()
    monkeypatch.setattr(module, "_translator", lambda folder, bfloat16: fake)
    return fake


def rows(folder: Path) -> list[list[str]]:
    with lzma.open(folder / "corpus.tsv.xz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def test_the_corpus_has_the_text_as_it_was_and_a_gap_for_what_was_dropped(
    tmp_path: Path, model: Path, backwards: Backwards
) -> None:
    talks = tmp_path / "talks.tsv"
    talks.write_text("a\tOne two. A loop here. Three four\nb\t\nc\tFive six.\n", encoding="utf-8")
    told: list[BacktranslateProgress] = []
    report = backtranslate(BacktranslateJob(model, talks, GREEDY), tmp_path / "out", told.append, processes=1)
    assert rows(tmp_path / "out") == [
        ["a", "TWO. ONE", "One two."],
        ["a", "", "A loop here."],
        ["a", "FOUR. THREE", "Three four."],
        ["c", "SIX.. FIVE", "Five six.."],
    ]
    assert report.dropped == Untranslated(no_words=1, loop=1)
    assert (report.documents, report.pairs, report.words, report.written_words) == (2, 3, 6, 6)
    assert (report.model, report.text_language, report.written_language) == ("random", "en", "de")
    assert report.lines()[-1] == "dropped: no words 1, loop 1"
    assert [(news.done, news.total) for news in told] == [(1, 1)]
    assert sorted(file.name for file in (tmp_path / "out").iterdir() if file.name != ".lock") == [
        "backtranslation.json",
        "corpus.tsv.xz",
    ]


def test_of_texts_without_words_nothing_is_lost_and_their_neighbours_stay_apart(
    tmp_path: Path, model: Path, backwards: Backwards
) -> None:
    """An empty line between two documents is none; a document whose text is empty is counted."""
    talks, out = tmp_path / "talks.tsv", tmp_path / "out"
    talks.write_text("a\tOne two.\n\nb\tThree.\nc\t\nb\tFour.\n\nd\t\n", encoding="utf-8")
    report = backtranslate(BacktranslateJob(model, talks, GREEDY), out, processes=1)
    assert rows(out) == [["a", "TWO.. ONE", "One two.."], ["b", "THREE..", "Three.."], ["b#4", "FOUR..", "Four.."]]
    assert (report.documents, report.pairs) == (3, 3)
    assert report.lines()[-1] == "dropped: no words 2"


def test_killed_while_joining_it_leaves_nothing(
    tmp_path: Path, model: Path, text: Path, backwards: Backwards, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, out, killed = BacktranslateJob(model, text, GREEDY), tmp_path / "out", tmp_path / "killed"
    put_in_place = files._put_in_place

    def as_if_killed(new: Path, path: Path, old: Path) -> None:
        if path == out / "corpus.tsv.xz":
            shutil.copytree(out, killed)
        put_in_place(new, path, old)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_put_in_place", as_if_killed)
        backtranslate(job, out, processes=1)
    assert len(list(killed.glob(".corpus.tsv.xz.*.partial"))) == 1
    backtranslate(job, killed, processes=1)
    assert {file.name for file in killed.iterdir()} == {"corpus.tsv.xz", "backtranslation.json", ".lock"}
    assert rows(killed) == rows(out)


def test_fresh_leaves_no_corpus_of_before(tmp_path: Path, model: Path, text: Path, backwards: Backwards) -> None:
    """It would look complete while the new one is made."""
    out = tmp_path / "out"
    backtranslate(BacktranslateJob(model, text, GREEDY), out, processes=1)
    text.write_text("a\tA loop here\n", encoding="utf-8")
    with pytest.raises(InputError, match="no sentence has a translation"):
        backtranslate(BacktranslateJob(model, text, GREEDY), out, processes=1, fresh=True)
    assert not (out / "corpus.tsv.xz").exists()


def test_a_gpu_has_one_process_and_cores_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    cpu, gpu = torch.device("cpu"), torch.device("cuda", 1)
    assert [module._usual_processes(Ranks(0, world, cpu)) for world in (1, 2, 16)] == [8, 4, 1]
    assert module._usual_processes(Ranks(1, 2, gpu)) == 1


@pytest.mark.usefixtures("small_parts")
def test_interrupted_it_goes_on_where_it_was(
    tmp_path: Path, model: Path, text: Path, backwards: Backwards, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = BacktranslateJob(model, text, GREEDY)
    backtranslate(job, tmp_path / "whole", processes=1)
    translate = Backwards.translate

    def interrupted(fake: Backwards, lines: Sequence[Line], *more: object) -> list[list[str]]:
        if any(line.document == "talk5" for line in lines):
            raise KeyboardInterrupt
        return translate(fake, lines, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Backwards, "translate", interrupted)
    told: list[BacktranslateProgress] = []
    with pytest.raises(KeyboardInterrupt):
        backtranslate(job, tmp_path / "out", told.append, processes=1)
    parts = told[0].total
    assert parts > 3
    assert told[-1].note == f"stopped: 2 of {parts} parts are kept; the same command goes on with them"
    assert read_backtranslation(tmp_path / "out") is None
    assert not (tmp_path / "out" / "corpus.tsv.xz").exists()
    monkeypatch.setattr(Backwards, "translate", translate)
    backwards.seen.clear()
    told.clear()
    backtranslate(job, tmp_path / "out", told.append, processes=1)
    assert told[0].note == "going on with an interrupted translation: 2 parts are there"
    assert backwards.seen == [one.id for group in list(read_texts(text, 40))[2:] for one in group]
    assert (tmp_path / "out" / "corpus.tsv.xz").read_bytes() == (tmp_path / "whole" / "corpus.tsv.xz").read_bytes()
    backwards.seen.clear()
    told.clear()
    backtranslate(job, tmp_path / "out", told.append, processes=1)
    assert backwards.seen == []
    assert told[0].note.endswith("is up to date: nothing to do")


@pytest.mark.usefixtures("small_parts")
def test_another_job_in_the_same_folder_is_refused_and_nothing_is_lost(
    tmp_path: Path, model: Path, text: Path, backwards: Backwards
) -> None:
    job, out = BacktranslateJob(model, text, GREEDY), tmp_path / "out"
    half = replace(job, bfloat16=True)
    assert len({one.digest() for one in (job, half, replace(half, draw=Draw(0.7)), replace(job, draw=Draw(0.7)))}) == 4
    backtranslate(job, out, processes=1)
    written = (out / "corpus.tsv.xz").read_bytes()
    sampled = replace(job, draw=Draw(0.7))
    with pytest.raises(InputError, match=r"out has what another model, another text or other settings gave; choose"):
        backtranslate(sampled, out, processes=1)
    assert (out / "corpus.tsv.xz").read_bytes() == written
    text.write_text("only\tOne two.\n", encoding="utf-8")
    with pytest.raises(InputError, match="another text"):
        backtranslate(job, out, processes=1)
    assert backtranslate(job, out, processes=1, fresh=True).pairs == 1
    # Half of another job is not lost either.
    (out / "backtranslation.json").unlink()
    (out / "parts-0123").mkdir()
    with pytest.raises(InputError, match="another model"):
        backtranslate(job, out, processes=1)
    assert backtranslate(job, out, processes=1, fresh=True).pairs == 1
    assert not list(out.glob("parts-*"))


def test_what_cannot_be_translated_is_said_and_leaves_nothing_behind(
    tmp_path: Path, model: Path, backwards: Backwards
) -> None:
    out, talks = tmp_path / "out", tmp_path / "talks.tsv"
    with pytest.raises(InputError, match=r"talks\.tsv: cannot read the text: No such file"):
        backtranslate(BacktranslateJob(model, talks, GREEDY), out, processes=1)
    talks.write_text("\n\n", encoding="utf-8")
    with pytest.raises(ModelError, match="no checkpoint; expected a run folder"):
        backtranslate(BacktranslateJob(tmp_path, talks, GREEDY), out, processes=1)
    assert not out.exists()
    with pytest.raises(FormatError, match=r"talks\.tsv: no documents"):
        backtranslate(BacktranslateJob(model, talks, GREEDY), out, processes=1)
    talks.write_text("a\tA loop\nno tab\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"talks\.tsv:2: expected `id<TAB>text`"):
        backtranslate(BacktranslateJob(model, talks, GREEDY), out, processes=1)
    talks.write_text("a\tA loop here\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no sentence has a translation; dropped: loop 1"):
        backtranslate(BacktranslateJob(model, talks, GREEDY), out, processes=1)
    assert not list(out.glob("parts-*"))
    talks.write_text("a\tA sentence here\n", encoding="utf-8")
    assert backtranslate(BacktranslateJob(model, talks, GREEDY), out, processes=1).pairs == 1


RANK = """
import os, sys
from pathlib import Path
from turia.cli import main
from turia.training import backtranslate as module

module._WORDS_PER_PART = 40
work = module._translate_part

def noted(task):
    (Path(sys.argv[0]).parent / f"rank-{os.environ['RANK']}").write_text("worked")
    return work(task)

module._translate_part = noted
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_a_real_model_by_any_number_of_processes_gives_the_same_bytes(
    tmp_path: Path, model: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By this process; by two of our own, and by two of torchrun, from the command line. Random weights write sentences
    of any length if pieces are drawn, and hardly any otherwise."""
    alone, colder = tmp_path / "alone", tmp_path / "colder"
    report = backtranslate(BacktranslateJob(model, text, Draw(1.0)), alone, processes=1)
    assert report.pairs > 5
    assert report.dropped.no_words == 1
    kept = [row for row in rows(alone) if row[1]]
    assert len(kept) == report.pairs
    assert len(rows(alone)) == 48
    assert {row[0] for row in rows(alone)} == {f"talk{n}" for n in range(9) if n != 4}
    command = ["backtranslate", str(model), str(text)]
    warm = [*command, "--sample", "1"]
    assert main([*warm, str(tmp_path / "two"), "--processes", "2"]) == 0
    said = capsys.readouterr()
    assert said.out == (
        f'[[data.train]]\npath = "{tmp_path}/two/corpus.tsv.xz"\ncolumns = ["yy", "xx"]\nsynthetic = true\n'
    )
    assert f"{report.pairs} pairs" in said.err
    assert main([*command, str(colder), "--sample", "0.9", "--top", "200", "--seed", "2", "--processes", "1"]) == 0
    assert rows(colder) != rows(alone)
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", str(script)]
    ranks = [*torchrun, *warm, str(tmp_path / "ranks"), "--processes", "1"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(ranks, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert {(tmp_path / f"rank-{rank}").read_text() for rank in (0, 1)} == {"worked"}
    assert result.stdout == said.out.replace("/two/", "/ranks/"), "the first one alone says what there is"
    for other in ("two", "ranks"):
        assert rows(tmp_path / other) == rows(alone)
    assert main([*command, str(tmp_path / "more"), "--top", "5"]) == 2
    assert capsys.readouterr().err.endswith("error: --top is for --sample, which is not given\n")


def test_machine_translation_is_called_so_on_the_card(
    tmp_path: Path, model: Path, text: Path, backwards: Backwards
) -> None:
    backwards.languages = ("yy", "xx")
    backtranslate(BacktranslateJob(model, text, GREEDY), tmp_path / "back", processes=1)
    corpus = Corpus(tmp_path / "back" / "corpus.tsv.xz", columns=("xx", "yy"), licence="CC0")
    recipe = Recipe(
        "xx",
        "yy",
        data=Data(tmp_path / "data", (corpus,), (replace(corpus, synthetic=True),)),
        filters=Filters(language=False),
        subwords=SubwordSettings(vocabulary=320),
        windows=Windows(history=20),
        model=ModelSettings(preset="tiny", max_positions=128),
    )
    with pytest.raises(ConfigError, match=r"corpus.tsv.xz was written by `turia backtranslate`; set synthetic = true"):
        prepare(recipe, processes=1)
    said, unsaid = (
        replace(recipe, data=replace(recipe.data, train=(replace(corpus, synthetic=value),))) for value in (True, False)
    )
    assert digest(said) == digest(unsaid), "data that was prepared before stays as it is"
    report = prepare(said, processes=1)
    shards = Shards.open(tmp_path / "data" / "train")
    assert (report.train.sentences, len(shards)) == (48, 48)
    assert report.train.windows < 48, "documents stayed whole"
    trained = replace(
        said,
        run=tmp_path / "run",
        training=replace(said.training, steps=1, warmup_steps=1),
        validation=replace(said.validation, k=(2,), batches=1, bleu_sentences=0),
    )
    train(trained, lambda _: None)
    assert main(["export", str(tmp_path / "run"), str(tmp_path / "new")]) == 0
    card = (tmp_path / "new" / "README.md").read_text(encoding="utf-8")
    assert card_corpora(card) == {"back/corpus.tsv.xz": "CC0; its xx side is machine translation"}
    noted = json.loads((tmp_path / "run" / "recipe.json").read_text(encoding="utf-8"))
    assert noted["data"]["train"][0]["synthetic"] is True
