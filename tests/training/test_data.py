"""The dev sets of a recipe: each measured by itself, none lost, none of it trained on."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.training.toy import unprepared_recipe
from turia.config import Corpus, Data, Recipe
from turia.corpus.prepare import prepare
from turia.corpus.shards import WINDOW, Shards
from turia.errors import ConfigError
from turia.model.transformer import Transformer
from turia.runtime.shape import shape_of
from turia.text.subwords import Subwords
from turia.training.data import open_data
from turia.training.paths import MaskSettings
from turia.training.validation import validate


def corpus(path: Path, documents: Iterable[tuple[str, int]], **settings: object) -> Corpus:
    """A tsv of made-up documents, each with a word of its own in every line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{word}{number}\tguri {word} keri {line} bado\tGuri {word} bado {line} keri.\n"
        for word, count in documents
        for number in range(count)
        for line in range(3)
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return Corpus(path, columns=("xx", "yy"), **settings)  # type: ignore[arg-type]


def with_data(folder: Path, train: tuple[Corpus, ...], dev: tuple[Corpus, ...], joint: bool = True) -> Recipe:
    recipe = unprepared_recipe(folder)
    made = replace(
        recipe,
        source_language="xx",
        target_language="yy",
        data=Data(folder / "data", train, dev),
        filters=replace(recipe.filters, language=False),
        subwords=replace(recipe.subwords, joint=joint),
    )
    prepare(made, processes=1)
    return made


def sources(shards: Shards, subwords: Subwords) -> list[str]:
    """The words of all single sentences."""
    singles = shards.samples[(shards.samples[:, 2] & WINDOW) == 0]
    return [" ".join(subwords.decode_words(shards.sentence(int(first))[0].ids)) for first in singles[:, 0]]


def test_dev_sets_of_one_name_are_two(tmp_path: Path) -> None:
    dev = (
        corpus(tmp_path / "talks" / "dev.tsv", [("talk", 4)]),
        corpus(tmp_path / "news" / "dev.tsv", [("news", 2)]),
        corpus(tmp_path / "news" / "deen.dev.tsv", [("more", 1)]),
        corpus(tmp_path / "void.tsv", []),
        replace(corpus(tmp_path / "twice.tsv", [("twice", 1)]), context=False),
        corpus(tmp_path / "twice.tsv", [("twice", 1)]),
    )
    data = open_data(with_data(tmp_path, (corpus(tmp_path / "train.tsv", [("said", 9)]),), dev))
    subwords, _ = data.subwords
    found = {name: {line.split()[1] for line in sources(shards, subwords)} for name, shards in data.dev.items()}
    twice = f"{tmp_path.name}/twice"
    assert found == {
        "talks/dev": {"talk"},
        "news/dev": {"news"},
        "deen.dev": {"more"},
        f"{twice}.1": {"twice"},
        f"{twice}.2": {"twice"},
    }
    assert [len(sources(shards, subwords)) for shards in data.dev.values()] == [12, 6, 3, 3, 3]


def test_without_its_report_a_folder_has_one_dev_set(tmp_path: Path) -> None:
    dev = tuple(corpus(tmp_path / f"{word}.tsv", [(word, 2)]) for word in ("one", "two"))
    recipe = with_data(tmp_path, (corpus(tmp_path / "train.tsv", [("said", 9)]),), dev)
    assert list(open_data(recipe).dev) == ["one", "two"]
    (tmp_path / "data" / "report.json").unlink()
    assert list(open_data(recipe).dev) == ["dev"]


@pytest.mark.parametrize(
    ("joint", "part"),
    [(True, "train"), (True, "dev"), (True, "subwords.model"), (False, "target.subwords.model"), (False, "dev")],
)
def test_what_does_not_belong_together_is_refused(tmp_path: Path, joint: bool, part: str) -> None:
    """As when `turia prepare` was killed while it replaced what another recipe had left."""
    one, other = (
        with_data(
            tmp_path / name,
            (corpus(tmp_path / name / "train.tsv", [(word, 9)]),),
            (corpus(tmp_path / name / "dev.tsv", [(word, 2)]),),
            joint,
        )
        for name, word in (("one", "said"), ("other", "written"))
    )
    open_data(one)
    place, strange = one.data.folder / part, other.data.folder / part
    if strange.is_dir():
        shutil.rmtree(place)
        shutil.copytree(strange, place)
    else:
        shutil.copy(strange, place)
    split = part if part == "dev" else "train"
    with pytest.raises(ConfigError, match=rf"/data: {split}/ was encoded with other subwords .*; run `turia prepare`"):
        open_data(one)


@pytest.mark.slow
def test_figures_are_those_of_each_set_by_itself_and_their_mean(tmp_path: Path) -> None:
    talks = corpus(tmp_path / "talks.tsv", [("talk", 5)])
    single = replace(corpus(tmp_path / "everyday.tsv", [("day", 3)]), context=False)
    recipe = with_data(tmp_path, (corpus(tmp_path / "train.tsv", [("said", 9), ("talk", 2)]),), (talks, single))
    data = open_data(recipe)
    torch.manual_seed(3)
    pieces = len(data.subwords[0])
    model = Transformer(shape_of(recipe.model, pieces, pieces, True)).eval()
    policy = MaskSettings(recipe.model.encoder, recipe.model.anchor, data.train.meta.gamma)
    validation = replace(recipe.validation, k=(1, 3), batches=0, bleu_sentences=4, bleu_k=(2,))

    def figures(dev: dict[str, Shards]) -> dict[str, float]:
        return validate(model, dev, data.subwords, policy, recipe.windows.history, validation)

    both = figures(data.dev)
    alone = {name: figures({name: shards}) for name, shards in data.dev.items()}
    assert alone["talks"].keys() - alone["everyday"].keys() == {
        "dev_loss_last_k3",
        "dev_loss_single_k3",
        f"bleu_k2_h{recipe.windows.history}",
    }
    expected = {
        f"{key}_{name}": value for name, found in alone.items() for key, value in found.items() if key != "dev_loss"
    }
    assert {key: value for key, value in both.items() if key != "dev_loss"} == pytest.approx(expected)
    assert both["dev_loss"] == pytest.approx((alone["talks"]["dev_loss"] + alone["everyday"]["dev_loss"]) / 2)
    assert alone["talks"]["dev_loss"] != pytest.approx(alone["everyday"]["dev_loss"], abs=1e-3)


def test_what_is_held_out_for_dev_is_not_trained_on(tmp_path: Path) -> None:
    everyday = corpus(tmp_path / "everyday.tsv", [(f"day{n}", 1) for n in range(60)], context=False, hold_out=5)
    data = open_data(with_data(tmp_path, (everyday,), (everyday,)))
    trained, kept = (set(sources(shards, data.subwords[0])) for shards in (data.train, *data.dev.values()))
    assert len(trained | kept) == 180
    assert not trained & kept
    assert 15 < len(kept) < 70
