"""The tables of a recipe that say which text is read: what is developed on is not trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from turia.config import Corpus, Data, Filters, Recipe, SegmenterRecipe, load_recipe
from turia.errors import ConfigError


@pytest.mark.parametrize(("train", "dev"), [(None, 5), (5, None), (5, 6)])
def test_a_corpus_that_is_held_out_in_one_place_alone_is_refused(train: int | None, dev: int | None) -> None:
    one, other = (Corpus(Path("a.tsv"), context=False, hold_out=value) for value in (train, dev))
    with pytest.raises(ConfigError, match=rf"a.tsv has hold_out = {dev} in dev and {train} in train, .* set both to"):
        Data(train=(one,), dev=(other,))
    Data(train=(one,), dev=(replace(other, path=Path("b.tsv")),))


def test_pairs_cannot_be_held_out_of_documents() -> None:
    with pytest.raises(ConfigError, match="hold_out is set, which takes single pairs out of their documents: set cont"):
        Corpus(Path("a.tsv"), hold_out=5)


LANGUAGES = {Recipe: 'source_language = "de"\ntarget_language = "en"\n', SegmenterRecipe: 'language = "de"\n'}


@pytest.mark.parametrize("kind", [Recipe, SegmenterRecipe])
def test_a_file_of_train_and_dev_is_refused_unless_pairs_are_held_out(kind: type, tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"

    def load(train: str, dev: str) -> None:
        path.write_text(f"{LANGUAGES[kind]}[data]\ntrain = [{{ {train} }}]\ndev = [{{ {dev} }}]\n", encoding="utf-8")
        load_recipe(kind, path)

    with pytest.raises(ConfigError) as caught:
        load('path = "talks.tsv"', 'path = "../RECIPES/talks.tsv"'.replace("RECIPES", tmp_path.name))
    assert str(caught.value).startswith(
        f"{path}: {tmp_path}/../{tmp_path.name}/talks.tsv is in data.train and in data."
    )
    with pytest.raises(ConfigError, match=r"a\.de is in data\.train and in data\.dev"):
        load('source = "a.de", target = "a.en"', 'source = "a.de", target = "a.fr"')
    load('path = "talks.tsv"', 'path = "others.tsv"')
    held_out = 'path = "talks.tsv", context = false, hold_out = 150'
    load(held_out, held_out)
    with pytest.raises(ConfigError, match=r"talks\.tsv has hold_out = 15 in dev and 150 in train, .*: set both to the"):
        load(held_out, held_out.replace("150", "15"))


def test_a_filter_that_would_drop_everything_is_refused() -> None:
    with pytest.raises(ConfigError, match="min_words is 9, more than max_words, 8"):
        Filters(min_words=9, max_words=8)
