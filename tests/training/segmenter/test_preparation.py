"""Corpora as streams of ids: made once, and made anew when something has changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.training.segmenter.test_training import toy_recipe, write_corpus
from turia.config import Corpus, SegmenterData, SegmenterModel, SegmenterRecipe
from turia.errors import InputError
from turia.training.segmenter.preparation import prepare
from turia.training.segmenter.training import train


def test_corpora_without_words_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text("1\t–\tx\n", encoding="utf-8")
    corpora = (Corpus(path=tmp_path / "empty.tsv"),)
    with pytest.raises(InputError, match="no sentence in 'de'"):
        train(SegmenterRecipe("de", SegmenterData(corpora, corpora), run=tmp_path / "run"))


def test_a_dev_set_has_a_sentence_for_each_window(tmp_path: Path) -> None:
    write_corpus(tmp_path / "train.tsv", 1, 60)
    write_corpus(tmp_path / "dev.tsv", 2, 1)
    with pytest.raises(InputError, match="the dev corpora hold 1 sentence in 'de', expected at least 2"):
        train(toy_recipe(tmp_path))


def test_prepared_texts_are_made_anew_only_when_something_changed(tmp_path: Path) -> None:
    write_corpus(tmp_path / "train.tsv", 1, 20)
    corpora = (Corpus(path=tmp_path / "train.tsv"),)
    recipe = SegmenterRecipe("de", SegmenterData(corpora, corpora))
    folder = tmp_path / "data"
    entries = prepare(recipe, folder).entries
    (folder / "train.words.npy").unlink()
    assert prepare(recipe, folder).entries == entries
    assert not (folder / "train.words.npy").exists()

    smaller = dataclasses.replace(recipe, model=SegmenterModel(vocabulary=3))
    assert len(prepare(smaller, folder)) == 3 + 3
    assert (folder / "train.words.npy").exists()
    write_corpus(tmp_path / "train.tsv", 2, 30)
    before = (folder / "finished.json").read_text()
    prepare(smaller, folder)
    assert (folder / "finished.json").read_text() != before
