"""Dataclasses from TOML: files that extend others, and complaints that name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.config import Recipe
from turia.errors import ConfigError
from turia.schema import load_toml


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
