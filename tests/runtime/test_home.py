"""Where added models are, and the names that they may have."""

from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs import user_data_path

from turia.errors import InputError, ModelError
from turia.runtime.home import PACKAGED, added_models, check_name, models_folder, named_model, packaged_models
from turia.runtime.translator import find_model


def test_turia_home_comes_before_the_user_s_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURIA_HOME", str(tmp_path))
    assert models_folder() == tmp_path / "models"
    monkeypatch.setenv("TURIA_HOME", "")
    assert models_folder() == user_data_path("turia", appauthor=False) / "models"
    monkeypatch.delenv("TURIA_HOME")
    assert models_folder() == user_data_path("turia", appauthor=False) / "models"


def test_models_are_found_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURIA_HOME", str(tmp_path))
    assert added_models() == []
    for name in ("opus", ".opus.partial"):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").touch()
    (tmp_path / "models" / "unfinished").mkdir()
    assert added_models() == ["opus"]
    assert named_model("opus") == find_model("opus") == tmp_path / "models" / "opus"
    assert named_model("de-en") == find_model("de-en") == PACKAGED / "de-en"
    with pytest.raises(ModelError, match=r"it is no folder, and the installed models are: de-en, .*opus"):
        find_model("nllb")


def test_an_empty_name_is_not_the_folder_that_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").touch()
    assert find_model(".") == Path()
    with pytest.raises(ModelError, match="no model '': it is no folder, and the installed models are: de-en"):
        find_model("")


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a b", "-x"])
def test_names_that_a_folder_should_not_have(name: str) -> None:
    with pytest.raises(InputError, match="expected letters, digits"):
        check_name(name)


def test_names_of_packaged_models_are_taken() -> None:
    assert packaged_models() == ["de-en", "en-de"]
    with pytest.raises(InputError, match="comes with Turia; choose another one with --name"):
        check_name("de-en")
    check_name("opus-mt-de-en")
