"""`turia export`: the right checkpoint of a run, and the properties it was trained with."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from tests.engine.fakes import subwords
from tests.runtime.models import random_transformer, torch_logits
from turia.cli import main
from turia.config import Recipe, SegmenterModel
from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.engine.model import Attention
from turia.errors import ConfigError, TuriaError
from turia.export.again import export_model
from turia.model.checkpoint import save_checkpoint
from turia.model.transformer import Transformer
from turia.policy.dial import DialPoint
from turia.policy.whole import Whole
from turia.runtime.folder import CARD_FILE, load_folder
from turia.runtime.graphs import Runtime
from turia.runtime.rows import Floats
from turia.runtime.shape import shape_of
from turia.runtime.translator import Translator
from turia.schema import load_toml, to_dict
from turia.segmenter.classifier import SegmenterSettings
from turia.segmenter.online import Decision
from turia.text.known_words import FILES as WORD_FILES
from turia.text.known_words import read_words, write_words
from turia.text.vocabulary import Vocabulary
from turia.training.export.run import export_run
from turia.training.run import RunFolder
from turia.training.segmenter.export import export as export_segmenter
from turia.training.segmenter.network import Network

TINY = Path(__file__).parents[3] / "recipes" / "tiny.toml"
IDS, LIMITS = np.arange(7, 19), np.arange(1, 13)


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, list[Transformer]]:
    """A run with three checkpoints, and the models in them; the first was the best."""
    recipe = load_toml(Recipe, TINY)
    training = replace(recipe.training, k_range=(1, 6))
    recipe = replace(recipe, training=training, windows=replace(recipe.windows, history=17))
    folder = RunFolder(tmp_path / "run")
    folder.checkpoints.mkdir(parents=True)
    (folder.path / "recipe.json").write_text(json.dumps(to_dict(recipe)), encoding="utf-8")
    (folder.path / "data.json").write_text(json.dumps({"gamma": 1.07}), encoding="utf-8")
    subwords().save(folder.path / "subwords.model")
    shape = shape_of(recipe.model, len(subwords()), len(subwords()), joint=True)
    models = [random_transformer(shape, seed) for seed in (1, 2, 3)]
    for step, model in enumerate(models, start=1):
        save_checkpoint(folder.checkpoint(step), model)
        folder.log(step=step, loss=9.0)
        folder.log(step=step, dev_loss=float(step), bleu_k4_h0=10.0 + step)
    folder.set_best(1, 1.0)
    return folder.path, models


def last_logits(folder: Path) -> Floats:
    runtime = Runtime(load_folder(folder))
    [memory] = runtime.encode([EncodeRequest(None, IDS, LIMITS)])
    return runtime.decode([DecodeRequest(None, memory, IDS, LIMITS)])[0][1]


def expected_logits(model: Transformer) -> Floats:
    last: Floats = torch_logits(model, IDS, LIMITS, IDS, LIMITS)[-1]
    return last


def test_the_best_checkpoint_or_the_newest(run: tuple[Path, list[Transformer]], tmp_path: Path) -> None:
    path, models = run
    assert main(["export", str(path), str(tmp_path / "best"), "--precision", "float32"]) == 0
    np.testing.assert_allclose(last_logits(tmp_path / "best"), expected_logits(models[0]), atol=1e-4)
    (path / "best.json").unlink()
    assert main(["export", str(path), str(tmp_path / "newest"), "--precision", "float32"]) == 0
    np.testing.assert_allclose(last_logits(tmp_path / "newest"), expected_logits(models[2]), atol=1e-4)


def test_the_mean_of_the_newest(run: tuple[Path, list[Transformer]], tmp_path: Path) -> None:
    path, models = run
    assert main(["export", str(path), str(tmp_path / "mean"), "--precision", "float32", "--average", "2"]) == 0
    for mine, other in zip(models[1].parameters(), models[2].parameters(), strict=True):
        mine.data.add_(other.data).div_(2)
    np.testing.assert_allclose(last_logits(tmp_path / "mean"), expected_logits(models[1]), atol=1e-4)


def test_properties_and_card(run: tuple[Path, list[Transformer]], tmp_path: Path) -> None:
    assert main(["export", str(run[0]), str(tmp_path / "model")]) == 0
    config = load_folder(tmp_path / "model").config
    assert (config.precision, config.gamma, config.history, config.trained_k) == ("int8", 1.07, 17, (1, 6))
    assert (config.source_language, config.target_language) == ("toy", "swapped")
    card = (tmp_path / "model" / CARD_FILE).read_text(encoding="utf-8")
    front = card.split("---")[1].splitlines()
    assert "- toy/train.source" in front
    assert "- toy/train.source: Apache-2.0" in card
    assert "- bleu_k4_h0 11.00 (dev set, while training, float32)" in front
    assert "weights of step-00000001;" in card
    assert "trained for k from 1 to 6" in card
    assert str(tmp_path) not in card


@pytest.mark.parametrize(
    ("k_range", "said"),
    [
        (None, "trained for k from 1 to the length of a window in pieces\n"),
        ((1, 6), "trained for k from 1 to 6 pieces of a window\n"),
    ],
)
def test_k_of_masks_anchored_at_the_window_is_of_pieces(
    run: tuple[Path, list[Transformer]], tmp_path: Path, k_range: tuple[int, int] | None, said: str
) -> None:
    path, (model, *_) = run
    recipe = RunFolder(path).recipe()
    (path / "recipe.json").write_text(
        json.dumps(to_dict(replace(recipe, training=replace(recipe.training, k_range=k_range)))), encoding="utf-8"
    )
    shape = path / "checkpoints/step-00000001/model.json"
    shape.write_text(json.dumps(asdict(replace(model.shape, anchor="window"))), encoding="utf-8")
    assert main(["export", str(path), str(tmp_path / "model")]) == 0
    assert said in (tmp_path / "model" / CARD_FILE).read_text(encoding="utf-8")


def test_the_card_names_what_was_learned_from_before(run: tuple[Path, list[Transformer]], tmp_path: Path) -> None:
    """A second run learns from another corpus, a third starts from it; what they started from is lost or changed."""
    folder, _ = run
    recipe = RunFolder(folder).recipe()
    (corpus,) = recipe.data.train
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    subwords().save(prepared / "subwords.model")

    def begin(name: str, learned: str, start: Path | None) -> RunFolder:
        own = replace(corpus, source=tmp_path / "more" / learned, licence=None)
        training = replace(recipe.training, start_from=start)
        later = RunFolder(tmp_path / name)
        later.path.mkdir(exist_ok=True)
        later.begin(replace(recipe, data=replace(recipe.data, train=(own,), folder=prepared), training=training), 1.1)
        return later

    second = begin("second", "b", folder)
    assert second.corpora() == {"toy/train.source": "Apache-2.0", "more/b": None}
    third = begin("third", "c", second.path)
    shutil.copytree(folder / "checkpoints/step-00000001", third.checkpoint(1))
    begin("second", "other", None)  # trained anew
    shutil.rmtree(folder)
    for corpora in ("c", "d"):  # resumed, then with another corpus
        third = begin("third", corpora, second.path)
    assert third.corpora() == {"toy/train.source": "Apache-2.0", "more/b": None, "more/c": None, "more/d": None}
    assert main(["export", str(third.path), str(tmp_path / "model")]) == 0
    card = (tmp_path / "model" / CARD_FILE).read_text(encoding="utf-8")
    assert "- toy/train.source: Apache-2.0\n- more/b: licence to be named\n- more/c: licence" in card


def test_a_run_of_an_older_release_is_asked_what_it_started_from(
    run: tuple[Path, list[Transformer]], tmp_path: Path
) -> None:
    folder, _ = run  # its data.json has only gamma
    recipe = RunFolder(folder).recipe()
    (corpus,) = recipe.data.train
    own = replace(corpus, source=tmp_path / "more/b")
    later = RunFolder(tmp_path / "later")
    later.path.mkdir()
    training = replace(recipe.training, start_from=folder)
    then = replace(recipe, data=replace(recipe.data, train=(own,)), training=training)
    (later.path / "recipe.json").write_text(json.dumps(to_dict(then)), encoding="utf-8")
    (later.path / "data.json").write_text(json.dumps({"gamma": 1.07}), encoding="utf-8")
    assert list(later.corpora()) == ["toy/train.source", "more/b"]


def test_another_beam(run: tuple[Path, list[Transformer]], tmp_path: Path) -> None:
    assert main(["export", str(run[0]), str(tmp_path / "model"), "--beam", "3"]) == 0
    assert load_folder(tmp_path / "model").config.beam == 3
    assert "- search: a beam of 3\n" in (tmp_path / "model" / CARD_FILE).read_text(encoding="utf-8")
    translator = Translator.load(tmp_path / "model")
    assert translator.stream(punctuation=True).settings.beam == 3
    assert translator.stream(punctuation=True, beam=1).settings.beam == 1
    assert main(["export", str(run[0]), str(tmp_path / "greedy")]) == 0
    assert "- search: greedy\n" in (tmp_path / "greedy" / CARD_FILE).read_text(encoding="utf-8")


def test_a_beam_that_no_stream_can_have_is_refused(run: tuple[Path, list[Transformer]], tmp_path: Path) -> None:
    model = tmp_path / "model"
    assert main(["export", str(run[0]), str(model), "--beam", "65"]) == 2
    assert main(["export", str(run[0]), str(model)]) == 0
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    for beam in (0, 65):
        (model / "config.json").write_text(json.dumps({**config, "beam": beam}), encoding="utf-8")
        with pytest.raises(TuriaError, match=f"beam is {beam}, expected a whole number from 1 to 64"):
            load_folder(model)


def test_what_policies_look_at_and_streams_begin_with_is_stored(
    run: tuple[Path, list[Transformer]], tmp_path: Path
) -> None:
    dial = (DialPoint("hold-n:n=1", 2.0, 15.0), DialPoint("hold-n:n=3", 4.0, 18.0))
    export_run(run[0], tmp_path / "first", attention=Attention(0, 1), policy="hold-n:n=1", dial=dial)
    # Exported again, what is not given stays.
    config = export_model(tmp_path / "first", tmp_path / "second", attention=Attention(1))
    assert (config.attention_layer, config.attention_head) == (1, None)
    model = Translator.load(tmp_path / "second").model
    assert model.attention == Attention(1)
    assert str(model.policy) == "hold-n:n=1"
    assert model.dial == dial
    assert Translator.load(tmp_path / "second", policy="whole").model.policy == Whole()
    with pytest.raises(ConfigError, match="attention_layer is 7, but the decoder has"):
        export_run(run[0], tmp_path / "third", attention=Attention(7))


def test_another_history(run: tuple[Path, list[Transformer]], tmp_path: Path) -> None:
    assert main(["export", str(run[0]), str(tmp_path / "model"), "--history", "0"]) == 0
    assert load_folder(tmp_path / "model").config.history == 0
    card = (tmp_path / "model" / CARD_FILE).read_text(encoding="utf-8")
    assert "- history 0 words (trained with windows of 17)" in card


def test_without_windows_there_is_no_history(run: tuple[Path, list[Transformer]], tmp_path: Path) -> None:
    path, _ = run
    recipe = RunFolder(path).recipe()
    alone = replace(recipe, training=replace(recipe.training, windows_from=1.0))
    (path / "recipe.json").write_text(json.dumps(to_dict(alone)), encoding="utf-8")
    assert main(["export", str(path), str(tmp_path / "model")]) == 0
    assert load_folder(tmp_path / "model").config.history == 0
    card = (tmp_path / "model" / CARD_FILE).read_text(encoding="utf-8")
    assert "- history 0 words (trained with single sentences)" in card


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--average", "4"], "--average 4, but there are 3 checkpoints"),
        (["--segmenter", "."], "segmenter.json: no such file; expected a folder written by `turia segmenter train`"),
        (
            ["--segmenter", __file__],
            "test_run.py/segmenter.json: cannot be read: Not a directory; "
            "expected a folder written by `turia segmenter train`",
        ),
    ],
)
def test_one_line_for_people(
    run: tuple[Path, list[Transformer]],
    tmp_path: Path,
    more: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["export", str(run[0]), str(tmp_path / "model"), *more]) == 2
    assert capsys.readouterr().err.rstrip("\n").endswith(complaint)
    assert not (tmp_path / "model").exists()


@pytest.fixture
def segmenter(tmp_path: Path) -> Path:
    """An exported one for the run's source language, and what somebody else has left beside it."""
    folder = tmp_path / "segmenter"
    folder.mkdir()
    vocabulary = Vocabulary.learn({"ka": 2, "le": 1}, 2)
    model = SegmenterModel(windows=(0, 2), embedding=4, hidden=4, feed_forward=4)
    export_segmenter(Network(model, len(vocabulary)).eval(), vocabulary, folder)
    SegmenterSettings("toy", len(vocabulary), dict.fromkeys((0, 2), Decision())).save(folder)
    for name in ("notes.txt", "segmenter-w3.onnx", "segmenter.old"):
        (folder / name).write_text("not part of it", encoding="utf-8")
    return folder


SEGMENTER = (
    "segmenter-vocabulary.txt",
    "segmenter-w0.onnx",
    "segmenter-w2.onnx",
    "segmenter.json",
    "segmenter.weights",
)


def test_a_segmenter_of_the_source_language_goes_along(
    run: tuple[Path, list[Transformer]], tmp_path: Path, segmenter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", str(run[0]), str(tmp_path / "model"), "--segmenter", str(segmenter)]
    assert main(command) == 0
    assert sorted(file for file in load_folder(tmp_path / "model").listed if "segmenter" in file) == [*SEGMENTER]
    settings = json.loads((segmenter / "segmenter.json").read_text(encoding="utf-8"))
    (segmenter / "segmenter.json").write_text(json.dumps({**settings, "language": "swapped"}), encoding="utf-8")
    assert main(command) == 2
    assert "a segmenter of 'swapped', but the model reads 'toy'" in capsys.readouterr().err


def test_lists_of_words_go_along(
    run: tuple[Path, list[Transformer]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lists, model, again = tmp_path / "data", tmp_path / "model", tmp_path / "again"
    assert main(["export", str(run[0]), str(model)]) == 0
    assert Translator.load(model).model.names is None
    assert main(["export", str(run[0]), str(model), "--words", str(tmp_path)]) == 2
    assert "no source.words.txt and target.words.txt; expected data that `turia prepare`" in capsys.readouterr().err
    lists.mkdir()
    write_words(lists, {"haus": 2, "boot": 2}, {"house": 2})
    assert main(["export", str(run[0]), str(model), "--words", str(lists)]) == 0
    write_words(run[0], {"haus": 2}, {"house": 2})
    assert main(["export", str(run[0]), str(again)]) == 0
    for folder, words in ((model, {"haus", "boot"}), (again, {"haus"})):
        names = Translator.load(folder).model.names
        assert names is not None
        assert (set(names.source_words), set(names.target_words)) == (words, {"house"})
        assert names.languages == ("toy", "swapped")
    # Written again, a model keeps its lists, or gets others.
    assert main(["export", str(model), str(again)]) == 0
    assert {*WORD_FILES} <= load_folder(again).listed
    assert main(["export", str(model), str(again), "--words", str(run[0])]) == 0
    assert read_words(again / WORD_FILES[0]) == {"haus"}


@pytest.mark.slow
@pytest.mark.parametrize("lost", SEGMENTER)
def test_a_segmenter_that_does_not_load_is_refused_before_anything_is_replaced(
    run: tuple[Path, list[Transformer]],
    tmp_path: Path,
    segmenter: Path,
    lost: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["export", str(run[0]), str(tmp_path / "model"), "--segmenter", str(segmenter)]
    assert main(command) == 0
    before = load_folder(tmp_path / "model").sha256()
    (segmenter / lost).unlink()
    assert main([*command, "--history", "0"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {segmenter}")
    assert load_folder(tmp_path / "model").sha256() == before


def test_a_card_that_stays_is_told_of(
    run: tuple[Path, list[Transformer]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    assert main(["export", str(run[0]), str(folder)]) == 0
    assert capsys.readouterr().err == ""
    (folder / CARD_FILE).write_text("finished", encoding="utf-8")
    assert main(["export", str(run[0]), str(folder)]) == 0
    assert capsys.readouterr().err == f"{folder / CARD_FILE} stays as it was; README.new.md has what is new\n"
    assert (folder / CARD_FILE).read_text(encoding="utf-8") == "finished"
    # For the hub it does not: it gets what the hub wants, and keeps what it says.
    (folder / CARD_FILE).write_text("---\nlicense: mit\nmine: too\n---\n\nfinished", encoding="utf-8")
    assert main(["export", str(run[0]), str(folder), "--hub"]) == 0
    assert capsys.readouterr().err == f"{folder / CARD_FILE} keeps what it says; README.new.md has what is new\n"
    card = (folder / CARD_FILE).read_text(encoding="utf-8")
    assert "\nlicense: mit\n" in card
    assert card.endswith("\nmine: too\n---\n\nfinished")


def test_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path), str(tmp_path / "model")]) == 2
    assert "no recipe.json; expected a run folder that `turia train` has written" in capsys.readouterr().err
