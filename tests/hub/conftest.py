"""Checkpoints of two families, a hub that has them, and a home for what is added."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.export.m2m_checkpoint import write_m2m
from tests.export.marian_checkpoint import write_checkpoint
from tests.hub.local_hub import HubModel, LocalHub, local_hub

OPUS, NLLB = "Helsinki-NLP/opus-mt-de-en", "facebook/nllb-200-tiny"


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("checkpoints")
    write_checkpoint(place / "opus-mt-de-en")
    write_m2m(place / "nllb-200-tiny", "nllb")
    return {OPUS: place / "opus-mt-de-en", NLLB: place / "nllb-200-tiny"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where models are added."""
    monkeypatch.setenv("TURIA_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "models"


@pytest.fixture
def hub(checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """A hub with copies of the checkpoints, and an empty cache."""
    from huggingface_hub import constants

    with local_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        for name, folder in checkpoints.items():
            copied = shutil.copytree(folder, tmp_path / "hub" / folder.name)
            (copied / "flax_model.msgpack").write_bytes(b"not needed")
            running.models[name] = HubModel(copied)
        yield running
