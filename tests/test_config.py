"""Recipes: no key can be misspelt, no value be of another type or out of range; paths start at the file."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.config import COMMANDS, Corpus, PolicyRecipe, Recipe, SegmenterRecipe, SweepRecipe, Training, load_recipe
from turia.errors import ConfigError
from turia.schema import from_dict, load_toml, to_dict

RECIPES = sorted((Path(__file__).parents[1] / "recipes").rglob("*.toml"))
LANGUAGES = {"source_language": "de", "target_language": "en"}


def recipe(**tables: Any) -> Recipe:
    return from_dict(Recipe, LANGUAGES | tables)


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
        ({"validation": {"k": [0]}}, "validation.k[0] is 0, expected a whole number from 1"),
    ],
)
def test_values_out_of_range_are_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        recipe(**tables)
    assert str(caught.value) == message


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


def test_a_recipe_of_another_kind_is_called_so_whatever_its_first_key(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text('windows = [0]\nfolder = "x"\n[[test]]\nname = "toy"\ncorpus = {}\n')
    with pytest.raises(ConfigError, match="this is a recipe for `turia sweep`"):
        load_recipe(Recipe, path)


def test_a_recipe_of_another_kind_is_called_so() -> None:
    recipes = Path(__file__).parents[1] / "recipes"
    kinds: dict[str, type[Any]] = {
        "tiny": Recipe,
        "segmenter-de": SegmenterRecipe,
        "sweep-beam-de-en": SweepRecipe,
    }
    for name, own in kinds.items():
        path = recipes / f"{name}.toml"
        assert isinstance(load_recipe(own, path), own)
        for kind in set(kinds.values()) - {own}:
            with pytest.raises(ConfigError) as caught:
                load_recipe(kind, path)
            assert str(caught.value) == f"{path}: this is a recipe for {COMMANDS[own]}"


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"training": {"schedule": "linear"}},
            "training.schedule is 'linear', which needs a planned end: set steps or hours",
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


def test_complaints_about_a_file_name_it_and_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    languages = b'source_language = "de"\ntarget_language = "en"\n'
    for content, complaint in [
        (b"seed = ", ": not TOML: Invalid value"),
        (b"seed = " + b"9" * 5000, ": not TOML: Exceeds the limit"),
        (b"seed = " + b"[" * 20_000, ": not TOML: maximum recursion depth exceeded"),
        (b"seed = 1\n\xff", ":2: not UTF-8 at byte 9"),
        (b"sed = 1", ":1: unknown key 'sed'; did you mean 'seed'?"),
        (b"seed = 1", ": missing key 'source_language'"),
        # `steps` is known in another table before and after.
        (
            languages + b"[training]\nsteps = 1\n[windows]\n# why\nsteps = 1\n[validation]\nsteps = 1\n",
            ":7: unknown key 'windows.steps'",
        ),
        (languages + b"[[data.train]]\n[[data.train]]\npth = 'x'\n", ":5: unknown key 'data.train[1].pth'"),
        (languages + b"[validation]\nk = [\n  4,\n  0,\n]\nsteps = 9\n", ":7: validation.k[1] is 0"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            load_toml(Recipe, path)
        assert str(caught.value).startswith(f"{path}{complaint}")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["absent.toml", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_toml(Recipe, tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: ")
    assert str(caught.value).endswith("; expected a TOML file")


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


@given(trainings, st.lists(corpora, max_size=3), st.text(), st.text())
def test_a_recipe_round_trips_through_plain_data(
    training: Training, train: list[Corpus], source: str, target: str
) -> None:
    whole = Recipe(source, target, training=training)
    whole = dataclasses.replace(whole, data=dataclasses.replace(whole.data, train=tuple(train)))
    assert from_dict(Recipe, to_dict(whole)) == whole


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_the_recipes_that_come_with_turia_load_and_round_trip(path: Path) -> None:
    kinds: dict[str, type[Any]] = {"segmenter": SegmenterRecipe, "policy": PolicyRecipe}
    kinds |= dict.fromkeys(("sweep", "compare", "policies"), SweepRecipe)
    kind = kinds.get(path.name.split("-")[0], Recipe)
    loaded = load_toml(kind, path)
    assert from_dict(kind, to_dict(loaded)) == loaded


def test_a_recipe_that_extends_another_has_its_keys_where_it_sets_none(tmp_path: Path) -> None:
    (tmp_path / "arms").mkdir()
    (tmp_path / "whole.toml").write_text(
        'source_language = "de"\ntarget_language = "en"\nrun = "whole"\n[data]\nfolder = "shards"\n'
        '[windows]\nhistory = 60\nkind = "sliding"\n[training]\nbetas = [0.9, 0.98]\n'
    )
    arm = tmp_path / "arms" / "arm.toml"
    arm.write_text('extends = "../whole.toml"\nrun = "arm"\n[windows]\nhistory = 0\n[training]\nbetas = [0.8, 0.9]\n')
    recipe = load_toml(Recipe, arm)
    # Each file's paths are relative to its own folder; tables are merged, lists are replaced.
    assert (recipe.run, recipe.data.folder) == (tmp_path / "arms" / "arm", tmp_path / "shards")
    assert (recipe.windows.history, recipe.windows.kind, recipe.training.betas) == (0, "sliding", (0.8, 0.9))


def test_what_is_wrong_is_said_of_the_file_that_says_it(tmp_path: Path) -> None:
    whole, arm = tmp_path / "whole.toml", tmp_path / "arm.toml"
    whole.write_text('source_language = "de"\ntarget_language = "en"\n[windows]\nhistory = -1\n')
    arm.write_text('extends = "whole.toml"\nseed = 2\n[windows]\nhistroy = 0\n')
    with pytest.raises(ConfigError, match=r"whole\.toml:4: windows\.history is -1"):
        load_toml(Recipe, arm)
    whole.write_text('source_language = "de"\ntarget_language = "en"\n')
    with pytest.raises(ConfigError, match=r"arm\.toml:4: unknown key 'windows\.histroy'; did you mean"):
        load_toml(Recipe, arm)


def test_recipes_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('extends = "two.toml"\n')
    (tmp_path / "two.toml").write_text('extends = "one.toml"\n')
    with pytest.raises(ConfigError, match="which extends this file"):
        load_toml(Recipe, tmp_path / "one.toml")
