"""A run of Marian's shape becomes a checkpoint that transformers loads, and that is added with the same logits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from turia.cli import main
from turia.config import OFFLINE_K, ModelSettings, Recipe, SubwordSettings, Training, Windows, load_recipe
from turia.corpus.shards import save_subwords
from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.export.families import FIRST
from turia.export.offline import Origin, Wanted, convert
from turia.export.random_model import made_up_words
from turia.model.checkpoint import save_checkpoint
from turia.model.transformer import Transformer
from turia.runtime.folder import AS_GIVEN
from turia.runtime.shape import shape_of
from turia.runtime.translator import Translator
from turia.schema import to_dict
from turia.text.subwords import train_subwords
from turia.text.symbols import BRK_ID, CONT_ID
from turia.training.run import RunFolder

ROOT = Path(__file__).parents[3]


def write_run(run: Path, recipe: Recipe) -> Transformer:
    subwords = train_subwords(dict.fromkeys(made_up_words()[:400], 3), 400, space_first=True)
    torch.manual_seed(1)
    model = Transformer(shape_of(recipe.model, len(subwords), len(subwords), joint=True)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    run.mkdir()
    save_subwords(run, subwords, subwords)
    (run / "data.json").write_text(json.dumps({"gamma": 1.0, "normalisation": AS_GIVEN}), encoding="utf-8")
    save_checkpoint(RunFolder(run).checkpoint(0), model)
    (run / "recipe.json").write_text(json.dumps(to_dict(recipe)), encoding="utf-8")
    return model


RECIPE = Recipe(
    "de",
    "en",
    model=ModelSettings(preset="tiny", encoder="bidirectional", norm="post", conventions="marian", max_positions=128),
    subwords=SubwordSettings(space_first=True),
    windows=Windows(history=0),
    training=Training(k_range=(OFFLINE_K, OFFLINE_K)),
)


def test_logits_survive_the_way_there_and_back(tmp_path: Path) -> None:
    from transformers import MarianMTModel

    model = write_run(tmp_path / "run", RECIPE)
    assert main(["export", str(tmp_path / "run"), str(tmp_path / "saved"), "--marian"]) == 0
    theirs = MarianMTModel.from_pretrained(tmp_path / "saved").eval()
    convert(tmp_path / "saved", tmp_path / "model", Wanted(precision="float32"), Origin("saved"), {})
    added = Translator.load(tmp_path / "model").model
    assert added.languages == ("de", "en")
    pieces = np.random.default_rng(1).integers(FIRST, len(added.target_subwords) - FIRST, 12)
    source, target = np.append(pieces[:7], BRK_ID), np.array([CONT_ID, *pieces[7:]])
    full, limit = np.full(len(source), len(source)), np.full(len(target), len(source))
    with torch.no_grad():
        states = model(*(torch.from_numpy(values)[None] for values in (source, full, target, limit)))
        ours = model.logits(states[0, -1]).numpy()
        # Theirs: the end is piece 0, the unknown 1, our piece 7 is 2, and the padding is the last.
        said = theirs(
            input_ids=torch.tensor([[*(source[:-1] - FIRST + 2).tolist(), 0]]),
            decoder_input_ids=torch.tensor([[theirs.config.pad_token_id, *(target[1:] - FIRST + 2).tolist()]]),
        ).logits[0, -1]
    assert np.abs(said[2:-1].numpy() - ours[FIRST:]).max() < 1e-4
    assert abs(float(said[0]) - ours[BRK_ID]) < 1e-4
    # Added, it has our symbols before the pieces of the checkpoint.
    shift = FIRST + 2 - FIRST
    moved_source, moved_target = np.append(source[:-1] + shift, BRK_ID), np.append(CONT_ID, target[1:] + shift)
    [memory] = added.backend.encode([EncodeRequest(None, moved_source, full)])
    [(_, found)] = added.backend.decode([DecodeRequest(None, memory, moved_target, limit)])
    assert np.abs(found[FIRST + 2 : -1] - ours[FIRST:]).max() < 1e-4
    for word in ["straße", *made_up_words()[:50]]:
        pieces_of_word = [piece + shift for piece in train_subwords_of(tmp_path / "run", word)]
        assert list(added.source_subwords.encode_word(word)) == pieces_of_word


def train_subwords_of(run: Path, word: str) -> tuple[int, ...]:
    from turia.corpus.shards import load_subwords

    return load_subwords(run)[0].encode_word(word)


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (replace(RECIPE, subwords=SubwordSettings()), "subwords.space_first is false"),
        (replace(RECIPE, training=Training()), "trained for prefixes or with history"),
        (replace(RECIPE, model=replace(RECIPE.model, encoder="pbe")), "encoder is 'pbe', but a Marian model has"),
    ],
)
def test_runs_of_another_kind_are_refused(
    recipe: Recipe, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "run", recipe)
    assert main(["export", str(tmp_path / "run"), str(tmp_path / "saved"), "--marian"]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "saved").exists()
    assert main(["export", str(tmp_path / "run"), str(tmp_path / "saved"), "--marian", "--beam", "2"]) == 2
    assert "--marian writes a checkpoint, not a model folder; --beam is for one" in capsys.readouterr().err


def test_the_recipe_of_the_offline_model_can_be_saved_so() -> None:
    recipe = load_recipe(Recipe, ROOT / "recipes" / "offline-de-en-cased.toml")
    shape = shape_of(recipe.model, 8000, 8000, recipe.subwords.joint)
    assert (shape.encoder, shape.positions, shape.pre_norm, shape.joint) == ("bidirectional", "marian", False, True)
    assert recipe.subwords.space_first
    assert recipe.data.source_text == "written"
    assert recipe.training.k_range == (OFFLINE_K, OFFLINE_K)
