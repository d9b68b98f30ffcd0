"""What tests of training have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.fakes import subwords
from tests.model.test_sentences import speaking
from tests.runtime.models import config_of, weights_of
from turia.export.folder import write_folder


@pytest.fixture(autouse=True)
def no_curves(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs draw nothing: the pictures would take as long as all else. test_tiny.py looks at one."""
    if request.path.name != "test_tiny.py":
        monkeypatch.setattr("turia.training.loop.draw_curves", lambda log, path: None)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with random weights that end their sentences now and then; it reads `xx` and writes `yy`."""
    folder = tmp_path_factory.mktemp("model")
    transformer = speaking("pbe", "rotary")
    subwords().save(folder / "subwords.model")
    write_folder(folder / "random", config_of(transformer.shape), weights_of(transformer), "card", folder)
    return folder / "random"
