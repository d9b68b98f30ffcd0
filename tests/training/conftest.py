"""What tests of training have in common."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_curves(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs draw nothing: the pictures would take as long as all else. test_tiny.py looks at one."""
    if request.path.name != "test_tiny.py":
        monkeypatch.setattr("turia.training.loop.draw_curves", lambda log, path: None)
