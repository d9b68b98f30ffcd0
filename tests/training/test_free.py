"""A model that learns to work without a segmenter: trained, exported, run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.training.toy import toy_recipe
from turia.runtime.folder import load_folder
from turia.runtime.translator import Translator
from turia.stream.trace import End
from turia.training.export.run import export_run
from turia.training.loop import train
from turia.training.run import RunFolder


def test_a_run_with_free_batches_makes_a_model_that_goes_without_a_segmenter(tmp_path: Path) -> None:
    recipe = toy_recipe(tmp_path, free_share=0.7, steps=4, warmup_steps=2)
    recipe = replace(recipe, validation=replace(recipe.validation, steps=9, bleu_sentences=0, batches=1))
    train(recipe, lambda _: None)
    export_run(recipe.run, tmp_path / "model", "float32")
    assert load_folder(tmp_path / "model").config.free
    assert "--segmentation free" in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    stream = Translator.load(tmp_path / "model").stream(segmentation="free", k=2)
    records = [record for word in ["vodo", "fido", "setiri"] * 3 for record in stream.push(word)] + stream.flush()
    assert isinstance(records[-1], End)
    assert records[-1].source_words == 9


def test_the_dev_loss_is_that_of_windows_without_separators(tmp_path: Path) -> None:
    """The same weights, the same dev set: another number, noted as another measure."""
    figures = []
    for share in (0.0, 1.0):
        recipe = toy_recipe(tmp_path / str(share), free_share=share, steps=1, learning_rate=1e-9)
        recipe = replace(recipe, validation=replace(recipe.validation, steps=9, bleu_sentences=0, batches=2))
        run = RunFolder(train(recipe, lambda _: None))
        figures.append((run.read_log()[-1]["dev_loss"], (run.newest() / "progress.json").read_text("utf-8")))
    (usual, before), (free, now) = figures
    assert abs(usual - free) > 1e-4
    assert "without separators" in now
    assert "without separators" not in before
