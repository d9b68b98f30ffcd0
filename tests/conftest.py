"""Fixtures of all rooms."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of papers, corpora and published outputs beside the checkout; not part of the project."""
    folder = Path(__file__).parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared (corpora and published outputs), which is not here")
    return folder
