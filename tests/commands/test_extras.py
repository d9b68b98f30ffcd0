"""The table of extras is that of pyproject.toml and of the docs, and who misses one learns how to install it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from turia.commands import extras
from turia.commands.extras import EXTRAS, has, missing_extra, needs
from turia.errors import InputError

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_table_is_that_of_pyproject() -> None:
    own = {
        extra: {re.split(r"[^\w-]", requirement)[0].replace("-", "_") for requirement in requirements} - {"turia"}
        for extra, requirements in PROJECT["optional-dependencies"].items()
        if extra != "dev"
    }
    assert {extra: set(packages) for extra, packages in EXTRAS.items()} == own


def test_the_docs_name_every_extra() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `pip install (?:-e )?'\.\[(\w+)\]'`", page, re.MULTILINE)) == {*EXTRAS, "dev"}
    for packages in EXTRAS.values():
        assert all(re.search(rf"\b{package}\b".replace("_", "[-_]"), page, re.IGNORECASE) for package in packages)


def test_without_an_extra_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"onnx", "torch", "redis"}
    monkeypatch.setattr(extras, "find_spec", lambda package: package if package in installed else None)
    assert has("redis")
    needs("redis")
    assert not has("train"), "half of it is not enough"
    with pytest.raises(InputError) as refused:
        needs("train", "`turia bench` without a MODEL")
    assert (
        str(refused.value) == "`turia bench` without a MODEL needs the train extra of Turia; "
        "install it: pip install 'turia[train]'"
    )


@pytest.mark.parametrize(
    ("module", "extra"),
    [("torch.nn", "train"), ("matplotlib", "plot"), ("redis.asyncio", "redis"), ("ray", "ray"), ("numpy", None)],
)
def test_an_import_that_failed_is_explained_if_it_is_of_an_extra(module: str, extra: str | None) -> None:
    said = missing_extra(ModuleNotFoundError(f"No module named {module!r}", name=module))
    advice = f"this needs the {extra} extra of Turia; install it: pip install 'turia[{extra}]'"
    assert said == (None if extra is None else advice)


def test_other_errors_are_not_explained() -> None:
    assert missing_extra(ModuleNotFoundError("no name")) is None
    assert missing_extra(ImportError("cannot import", name="torch")) is None
