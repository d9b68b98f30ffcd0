"""benchmarks/history.py reads a text as `turia prepare` does: its figures are those of a validation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.history import dev_sentences, losses, main
from tests.training.toy import unprepared_recipe
from turia.config import Conventions, Corpus, Data, Recipe
from turia.corpus.prepare import prepare
from turia.model.checkpoint import save_checkpoint
from turia.model.transformer import Transformer
from turia.runtime.shape import shape_of
from turia.training.data import PreparedData, open_data
from turia.training.paths import MaskSettings
from turia.training.run import RunFolder
from turia.training.validation import loss_with_history_and_alone

K, HISTORY, SENTENCES = 2, 8, 12


def run_of(folder: Path, written: bool, conventions: Conventions) -> tuple[Recipe, PreparedData, Transformer]:
    """A run with random weights, and its data: words that are parted, a pair without words, and three documents."""
    lines = [f"{line // 6}\tGuri/keri bado {line}.Zaro!\tGuri {line} bado.\n" for line in range(18)]
    lines[3] = "0\t–\tNothing.\n"
    (folder / "dev.tsv").write_text("".join(lines), encoding="utf-8")
    corpus = Corpus(folder / "dev.tsv", columns=("yy", "xx"))
    recipe = unprepared_recipe(folder)
    recipe = replace(
        recipe,
        source_language="yy",
        target_language="xx",
        data=Data(folder / "data", (replace(corpus, repeat=9),), (corpus,), "written" if written else "spoken"),
        filters=replace(recipe.filters, language=False),
        windows=replace(recipe.windows, history=HISTORY, kind="sliding"),
        model=replace(recipe.model, conventions=conventions),
    )
    prepare(recipe, processes=1)
    data = open_data(recipe)
    torch.manual_seed(3)
    pieces = len(data.subwords[0])
    model = Transformer(shape_of(recipe.model, pieces, pieces, recipe.subwords.joint)).eval()
    run = RunFolder(recipe.run)
    run.path.mkdir()
    run.begin(recipe, data.train.meta.gamma)
    save_checkpoint(run.checkpoint(1), model)
    return recipe, data, model


@pytest.mark.parametrize(("written", "conventions"), [(False, "turia"), (True, "turia"), (False, "marian")])
def test_figures_are_those_of_a_validation(
    tmp_path: Path,
    written: bool,
    conventions: Conventions,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipe, data, model = run_of(tmp_path, written, conventions)
    (dev,) = data.dev.values()
    (corpus,) = recipe.data.dev
    policy = MaskSettings(recipe.model.encoder, recipe.model.anchor, data.train.meta.gamma, conventions != "marian")
    expected = loss_with_history_and_alone(model, dev, policy, K, 0)
    found = list(dev_sentences(corpus, RunFolder(recipe.run), model.shape, HISTORY, 99))
    # Of 17 pairs, three open a document, and one follows a gap. Written text has no gap: a dash is a word.
    assert len(found) == (15 if written else 13)
    pieces = sum(one.alone.labels for one in found)
    nats = [
        float(losses(model, [getattr(one, place) for one in found], K, policy.gamma).sum() / pieces)
        for place in ("behind", "alone")
    ]
    assert nats == pytest.approx(expected, abs=1e-5)
    assert len(list(dev_sentences(corpus, RunFolder(recipe.run), model.shape, HISTORY, SENTENCES))) < len(found)
    argv = ["history.py", str(recipe.run), str(corpus.path), "--columns", "yy,xx", "--k", "2", "--history", "8"]
    monkeypatch.setattr("sys.argv", argv)
    main()
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in out[1:]] == ["alone", "moved", "behind"]
    assert out[1] == f"alone   {nats[1]:.3f} nats a piece"
