"""A model folder that is written again: the same model, with what is given changed. test_release.py has an old one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from turia.engine.model import Attention
from turia.errors import ConfigError, ModelError
from turia.export.again import export_model
from turia.export.random_model import write_random_folder
from turia.policy.dial import DialPoint
from turia.runtime.folder import load_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_random_folder(folder, "tiny", vocabulary=400)
    return folder


def test_what_is_not_given_stays(model: Path, tmp_path: Path) -> None:
    config = export_model(model, tmp_path / "again")
    assert config == load_folder(model).config == load_folder(tmp_path / "again").config
    weights = [(folder / "weights.bin").read_bytes() for folder in (model, tmp_path / "again")]
    assert weights[0] == weights[1]


def test_what_is_given_changes(model: Path, tmp_path: Path) -> None:
    dial = (DialPoint("hold-n:n=1", 2.0, 15.0), DialPoint("hold-n:n=3", 4.0, 18.0))
    export_model(model, tmp_path / "b", 7, 3, attention=Attention(1, 0), policy="hold-n:n=1", dial=dial)
    config = load_folder(tmp_path / "b").config
    assert (config.history, config.beam, config.policy, config.dial) == (7, 3, "hold-n:n=1", dial)
    assert (config.attention_layer, config.attention_head) == (1, 0)


def test_what_no_stream_can_have_is_refused_before_anything_is_written(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="beam is 0, expected a whole number from 1"):
        export_model(model, tmp_path / "b", beam=0)
    assert not list(tmp_path.iterdir())


def test_a_card_that_cannot_be_read_is_refused_before_anything_is_written(model: Path, tmp_path: Path) -> None:
    old = shutil.copytree(model, tmp_path / "old")
    (old / "README.md").write_bytes(b"M\xfcller")
    with pytest.raises(ModelError, match="not UTF-8 at byte 1"):
        export_model(old, tmp_path / "new")
    assert not (tmp_path / "new").exists()
