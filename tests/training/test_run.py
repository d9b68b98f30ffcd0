"""A run folder: what stays, what goes, and what is refused. Checkpoints here are empty folders: only names matter."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.toy import unprepared_recipe
from turia.config import Corpus
from turia.errors import ConfigError, ResourceError
from turia.schema import to_dict
from turia.text.known_words import FILES as WORD_FILES
from turia.training.run import RunFolder, TrainingProgress


def folder_with(path: Path, *steps: int) -> RunFolder:
    run = RunFolder(path)
    for step in steps:
        run.checkpoint(step).mkdir(parents=True)
    return run


@pytest.mark.parametrize(("keep", "left"), [(0, [2, 6]), (1, [2, 6]), (2, [2, 5, 6]), (9, [1, 2, 3, 4, 5, 6])])
def test_the_newest_and_the_best_stay(tmp_path: Path, keep: int, left: list[int]) -> None:
    run = folder_with(tmp_path, 1, 2, 3, 4, 5, 6)
    run.set_best(2, 1.5)
    run.prune(keep)
    assert run.steps() == left
    assert run.best() == run.checkpoint(2)


def test_a_better_checkpoint_is_noted_and_a_worse_one_is_not(tmp_path: Path) -> None:
    run = folder_with(tmp_path, 1, 2, 3)
    for step, score, best in ((1, 2.0, 1), (2, 2.5, 1), (3, 1.5, 3)):
        run.note_best(step, score)
        assert run.best() == run.checkpoint(best)


def test_a_log_that_was_cut_off_is_mended(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.log(step=1, loss=2.0)
    run.log(step=2, loss=1.0)
    with run.metrics.open("a") as file:
        file.write('{"step": 3, "lo')
    assert run.read_log() == [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}]
    run.rewind_log(1, 1)
    assert run.read_log() == [{"step": 1, "loss": 2.0}]


def test_a_validation_that_is_made_again_is_logged_once(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    for step in (1, 2):
        run.log(step=step, loss=2.0)
        run.log(step=step, dev_loss=3.0)
    run.rewind_log(2, 1)
    assert run.read_log() == [{"step": 1, "loss": 2.0}, {"step": 1, "dev_loss": 3.0}, {"step": 2, "loss": 2.0}]


def test_progress_of_an_older_checkpoint_can_be_read() -> None:
    known = {key: value for key, value in TrainingProgress(step=7, best=2.0).to_json().items() if key != "measured"}
    assert TrainingProgress.from_json(json.loads(json.dumps(known))) == TrainingProgress(step=7, best=2.0)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with (
        RunFolder(tmp_path).alone(),
        pytest.raises(ResourceError, match="another `turia train`"),
        RunFolder(tmp_path).alone(),
    ):
        pass


def test_a_folder_that_cannot_be_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ResourceError, match=r"file.*: cannot write there"),
        RunFolder(tmp_path / "file" / "run").alone(),
    ):
        pass


def test_pieces_may_be_taken_from_a_folder_that_has_moved(tmp_path: Path) -> None:
    recipe = unprepared_recipe(tmp_path)
    recipe.data.folder.mkdir()
    (recipe.data.folder / "subwords.model").write_bytes(b"pieces")
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    for place in ("here", "there"):
        reused = replace(recipe.subwords, reuse=tmp_path / place)
        run.begin(replace(recipe, subwords=reused), gamma=1.0)
        run.checkpoint(1).mkdir(parents=True, exist_ok=True)
    assert run.recipe().subwords.reuse == tmp_path / "there"
    with pytest.raises(ConfigError, match="trained with another subwords"):
        run.begin(replace(recipe, subwords=replace(recipe.subwords, joint=False)), gamma=1.0)
    (recipe.data.folder / "subwords.model").write_bytes(b"others")
    with pytest.raises(ConfigError, match=r"trained with another subwords\.model"):
        run.begin(recipe, gamma=1.0)


def test_a_run_without_a_checkpoint_takes_any_recipe(tmp_path: Path) -> None:
    """Whoever corrects the model of a run that has not begun to learn has nothing to lose."""
    recipe = unprepared_recipe(tmp_path)
    recipe.data.folder.mkdir()
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.begin(recipe, gamma=1.0)
    other = replace(recipe, model=replace(recipe.model, positions="rotary"))
    run.begin(other, gamma=1.0)
    assert run.recipe() == other
    run.checkpoint(1).mkdir(parents=True)
    with pytest.raises(ConfigError, match="trained with another model"):
        run.begin(recipe, gamma=1.0)


def test_joint_pieces_of_an_earlier_recipe_go_though_there_is_a_checkpoint(tmp_path: Path) -> None:
    """Earlier releases left them beside the pieces of each side."""
    recipe = unprepared_recipe(tmp_path)
    recipe.data.folder.mkdir()
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    separate = {"source.subwords.model", "target.subwords.model"}
    for name in separate:
        (recipe.data.folder / name).write_bytes(b"pieces")
    run.begin(recipe, gamma=1.0)
    run.checkpoint(1).mkdir(parents=True)
    (run.path / "subwords.model").write_bytes(b"older")
    run.begin(recipe, gamma=1.0)
    assert {file.name for file in run.path.glob("*.model")} == separate


def test_without_a_checkpoint_no_other_kind_of_pieces_stays(tmp_path: Path) -> None:
    """Whoever reads the folder takes joint pieces where there are some."""
    recipe = unprepared_recipe(tmp_path)
    joint, separate = {"subwords.model"}, {"source.subwords.model", "target.subwords.model"}
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    (run.path / "notes.model").write_bytes(b"not ours")
    for names in (joint, separate, joint):
        recipe.data.folder.mkdir()
        for name in names:
            (recipe.data.folder / name).write_bytes(b"pieces")
        run.begin(recipe, gamma=1.0)
        assert {file.name for file in run.path.glob("*.model")} == names | {"notes.model"}
        shutil.rmtree(recipe.data.folder)


def test_lists_of_words_are_those_of_the_prepared_data(tmp_path: Path) -> None:
    recipe = unprepared_recipe(tmp_path)
    run = RunFolder(tmp_path / "run")
    recipe.data.folder.mkdir()
    for content in ("haus\n", "boot\n"):
        for name in WORD_FILES:
            (recipe.data.folder / name).write_text(content)
        run.begin(recipe, gamma=1.0)
        assert [(run.path / name).read_text() for name in WORD_FILES] == [content] * 2
    (run.path / "own.words.txt").write_text("not ours")
    shutil.rmtree(recipe.data.folder)
    run.begin(recipe, gamma=1.0)
    assert [file.name for file in run.path.glob("*.words.txt")] == ["own.words.txt"]


def test_a_recipe_that_is_refused_today_is_named(tmp_path: Path) -> None:
    recipe = unprepared_recipe(tmp_path)
    older = to_dict(recipe)
    older["training"]["steps"] = older["training"]["hours"] = 1
    (tmp_path / "recipe.json").write_text(json.dumps(older))
    folder_with(tmp_path, 1)
    for read in (RunFolder(tmp_path).recipe, lambda: RunFolder(tmp_path).begin(recipe, gamma=1.0)):
        with pytest.raises(ConfigError, match=r"/recipe\.json: training\.steps and hours are both set"):
            read()


def test_two_corpora_of_one_name_are_two(tmp_path: Path) -> None:
    recipe = unprepared_recipe(tmp_path)
    corpora = [Corpus(tmp_path / place / "talks/train.tsv", licence=place) for place in ("one", "two")]
    learned = to_dict(replace(recipe, data=replace(recipe.data, train=tuple(corpora))))
    (tmp_path / "recipe.json").write_text(json.dumps(learned))
    assert RunFolder(tmp_path).corpora() == {"one/talks/train.tsv": "one", "two/talks/train.tsv": "two"}
