"""Recipes of `turia train`: no key can be misspelt, no value be of another type or out of range."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.config.toys import recipe
from turia.config import Corpus, Recipe, Training, load_recipe
from turia.errors import ConfigError
from turia.schema import from_dict, load_toml, to_dict


def test_what_is_not_set_has_its_default() -> None:
    assert recipe() == Recipe("de", "en")
    assert recipe(training={"steps": 10}) == Recipe("de", "en", training=Training(steps=10))


def test_tables_and_lists_of_tables_are_read(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(
        """
        source_language = "de"
        target_language = "en"
        run = "~/runs/x"
        [data]
        folder = "/var/prepared"
        [[data.train]]
        path = "../europarl.tsv.xz"
        [[data.train]]
        path = "tatoeba.tsv.xz"
        columns = ["en", "de"]
        context = false
        [training]
        learning_rate = 1
        k_range = [1, 9]
        """,
        encoding="utf-8",
    )
    loaded = load_toml(Recipe, path)
    assert loaded.run == Path.home() / "runs/x"
    assert loaded.data.folder == Path("/var/prepared")
    assert loaded.data.train == (
        Corpus(path=tmp_path / "../europarl.tsv.xz"),
        Corpus(path=tmp_path / "tatoeba.tsv.xz", columns=("en", "de"), context=False),
    )
    assert isinstance(loaded.training.learning_rate, float)
    assert loaded.training.k_range == (1, 9)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"trainig": {}}, "unknown key 'trainig'; did you mean 'training'?"),
        (
            {"training": {"learnig_rate": 1.0}},
            "unknown key 'training.learnig_rate'; did you mean 'training.learning_rate'?",
        ),
        (
            {"data": {"train": [{"pth": "x"}]}},
            "unknown key 'data.train[0].pth'; did you mean 'data.train[0].path'?",
        ),
        (
            {"windows": {"zzz": 1}},
            "unknown key 'windows.zzz'; known keys: history, kind, sentences_per_window",
        ),
        ({"training": 3}, "training is 3, expected a table"),
        ({"training": {"dropout": "0.1"}}, "training.dropout is '0.1', expected a number from 0 to below 1"),
        ({"training": {"dropout": True}}, "training.dropout is True, expected a number from 0 to below 1"),
        ({"training": {"steps": 1.0}}, "training.steps is 1.0, expected a whole number from 1"),
        ({"training": {"steps": True}}, "training.steps is True, expected a whole number from 1"),
        ({"training": {"start_from": 1}}, "training.start_from is 1, expected a path"),
        ({"filters": {"language": 1}}, "filters.language is 1, expected true or false"),
        ({"model": {"norm": "both"}}, "model.norm is 'both', expected one of 'pre', 'post'"),
        ({"model": {"norm": []}}, "model.norm is [], expected one of 'pre', 'post'"),
        ({"validation": {"k": 4}}, "validation.k is 4, expected a list"),
        ({"validation": {"k": [4, "8"]}}, "validation.k[1] is '8', expected a whole number from 1"),
        ({"training": {"betas": [0.9]}}, "training.betas has 1 entries, expected 2"),
    ],
)
def test_unknown_keys_and_other_types_are_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        recipe(**tables)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"windows": {"history": -1}}, "windows.history is -1, expected a whole number from 0"),
        ({"training": {"dropout": 1}}, "training.dropout is 1, expected a number from 0 to below 1"),
        ({"training": {"dropout": -0.1}}, "training.dropout is -0.1, expected a number from 0 to below 1"),
        ({"training": {"dropout": float("nan")}}, "training.dropout is nan, expected a number from 0 to below 1"),
        ({"training": {"hours": float("inf")}}, "training.hours is inf, expected a number above 0"),
        ({"training": {"hours": 0}}, "training.hours is 0, expected a number above 0"),
        (
            {"training": {"betas": [0.9, 1.0]}},
            "training.betas[1] is 1.0, expected a number from 0 to below 1",
        ),
        ({"training": {"cooldown": 1.5}}, "training.cooldown is 1.5, expected a number from 0 to 1"),
        ({"training": {"k_range": [0, 4]}}, "training.k_range[0] is 0, expected a whole number from 1"),
        ({"filters": {"max_ratio": 0.5}}, "filters.max_ratio is 0.5, expected a number from 1"),
        (
            {"training": {"last_sentence_weight": 0}},
            "training.last_sentence_weight is 0, expected a number above 0",
        ),
        ({"validation": {"k": [0]}}, "validation.k[0] is 0, expected a whole number from 1"),
    ],
)
def test_values_out_of_range_are_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        recipe(**tables)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"training": {"schedule": "linear"}},
            "training.schedule is 'linear', which needs a planned end: set steps or hours",
        ),
        (
            {"training": {"free_share": 0.5}, "model": {"anchor": "window"}},
            "training.free_share is set, which needs model.anchor = 'sentence'",
        ),
        (
            {"training": {"free_share": 0.5}, "windows": {"history": 0}},
            "training.free_share is set, but without windows of several sentences there is no separator to learn: "
            "set windows.history, and training.windows_from below 1",
        ),
        (
            {"training": {"last_sentence_weight": 2, "windows_from": 1, "steps": 9}},
            "training.last_sentence_weight is set, but there are no windows of several sentences: "
            "set windows.history, and training.windows_from below 1",
        ),
        (
            {"training": {"windows_from": 0.5}},
            "training.windows_from is a share of the planned length: set steps or hours",
        ),
        (
            {"training": {"batch_tokens_start": 9}},
            "training.batch_tokens_start is set, but batches never grow: set batch_growth_steps",
        ),
        (
            {"training": {"steps": 9, "hours": 1.0}},
            "training.steps and hours are both set: a plan has one end",
        ),
        (
            {"model": {"anchor": "window", "conventions": "marian"}},
            "model.anchor is 'window', which counts from a symbol that Marian's sentences do not begin with",
        ),
        ({"training": {"k_range": [9, 1]}}, "training.k_range is [9, 1], expected the smaller k first"),
        ({"filters": {"min_words": 9, "max_words": 8}}, "filters.min_words is 9, more than max_words, 8"),
        ({"validation": {"k": []}}, "validation.k is empty, expected at least one k to validate at"),
        (
            {"validation": {"bleu_k": []}},
            "validation.bleu_k is empty, expected at least one k, or bleu_sentences = 0",
        ),
    ],
)
def test_values_that_contradict_each_other_are_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        recipe(**tables)
    assert str(caught.value) == message


def test_values_that_go_together_are_taken() -> None:
    assert recipe(training={"schedule": "linear", "hours": 8}).training.hours == 8.0
    assert recipe(validation={"bleu_k": [], "bleu_sentences": 0}).validation.bleu_k == ()


def test_a_missing_key_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^missing key 'target_language'$"):
        from_dict(Recipe, {"source_language": "de"})


def test_a_plan_in_hours_replaces_one_in_steps_that_it_extends(tmp_path: Path) -> None:
    languages = 'source_language = "de"\ntarget_language = "en"\n'
    (tmp_path / "below.toml").write_text(languages + "[training]\nsteps = 10\nkeep = 2\n")
    (tmp_path / "hours.toml").write_text('extends = "below.toml"\n[training]\nhours = 2.0\n')
    (tmp_path / "back.toml").write_text('extends = "hours.toml"\n[training]\nsteps = 7\n')
    below, hours, back = (
        load_recipe(Recipe, tmp_path / f"{name}.toml").training for name in ("below", "hours", "back")
    )
    assert (below.steps, below.hours) == (10, None)
    assert (hours.steps, hours.hours, hours.keep) == (None, 2.0, 2)
    assert (back.steps, back.hours) == (7, None)


def test_a_recipe_cannot_be_changed_by_accident() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipe().seed = 2  # type: ignore[misc]


trainings = st.builds(
    Training,
    learning_rate=st.floats(1e-9, 1),
    steps=st.none() | st.integers(1, 10**6),
    betas=st.tuples(st.floats(0, 0.999), st.floats(0, 0.999)),
    k_range=st.none() | st.tuples(st.integers(1, 9), st.integers(10, 20)),
    start_from=st.none() | st.just(Path("runs/other")),
)
corpora = st.builds(
    Corpus,
    path=st.none() | st.just(Path("a.tsv")),
    columns=st.tuples(st.text(), st.text()),
    context=st.booleans(),
)


@pytest.mark.slow
@given(trainings, st.lists(corpora, max_size=3), st.text(), st.text())
def test_a_recipe_round_trips_through_plain_data(
    training: Training, train: list[Corpus], source: str, target: str
) -> None:
    whole = Recipe(source, target, training=training)
    whole = dataclasses.replace(whole, data=dataclasses.replace(whole.data, train=tuple(train)))
    assert from_dict(Recipe, to_dict(whole)) == whole
