"""Fixtures of all rooms, and how hypothesis is to behave."""

from __future__ import annotations

import os
import signal
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.fixtures.server"]
if find_spec("torch") is not None:
    # .ci/lowest tests a plain install, which has none.
    pytest_plugins += ["tests.fixtures.both", "tests.fixtures.tiny_model", "tests.fixtures.tiny_segmenter"]

# No test depends on timing: a slow machine is not a failure.
settings.register_profile("turia", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("turia")

# Models that somebody has added on this machine are none of the tests' concern.
os.environ["TURIA_HOME"] = str(Path(tempfile.gettempdir()) / "turia-tests-have-no-home")

# What runs in a shell's background ignores Ctrl-C, and so would the processes that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The files that take longest come first: begun last, one of them would run alone while the other cores wait. Ray's
# nodes are the last of them, as they do not like to begin while everything else does.
LONG = ("test_browser.py", "test_elastic.py", "test_tiny.py", "test_resume.py", "test_many_machines.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with the long ones."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of papers, corpora and published outputs beside the checkout; not part of the project."""
    folder = Path(__file__).parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared (corpora and published outputs), which is not here")
    return folder
