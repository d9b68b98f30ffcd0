"""The exception tree: what the command line turns into one line and an exit code."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from turia.errors import ConfigError, FormatError, InputError, ModelError, ResourceError, TuriaError


@pytest.mark.parametrize("kind", [InputError, ConfigError, FormatError, ModelError])
def test_what_the_user_can_mend_is_a_value_error_and_exits_with_2(kind: type[TuriaError]) -> None:
    assert issubclass(kind, TuriaError)
    assert issubclass(kind, ValueError)
    assert kind.exit_code == 2


def test_what_the_machine_refuses_exits_with_1() -> None:
    assert issubclass(ResourceError, TuriaError)
    assert not issubclass(ResourceError, ValueError)
    assert ResourceError.exit_code == 1


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FormatError("empty"), "empty"),
        (FormatError("empty", "log"), "log: empty"),
        (FormatError("empty", Path("a/log"), 7), "a/log:7: empty"),
    ],
)
def test_a_format_error_names_its_place(error: FormatError, message: str) -> None:
    assert str(error) == message


def test_errors_cross_process_borders() -> None:
    # Preparation runs in several processes; what a worker raises must arrive as it was.
    error = pickle.loads(pickle.dumps(FormatError("empty", "log", 7)))
    assert type(error) is FormatError
    assert str(error) == "log:7: empty"
