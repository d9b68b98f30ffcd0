"""The table of extras is that of pyproject.toml and of the docs, and who misses one learns how to install it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import sysconfig
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from turia.commands import extras
from turia.commands.extras import EXTRAS, has, install_command, missing_extra, needs
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
    installed = {"onnx", "torch", "redis", "pip"}
    monkeypatch.setattr(extras, "find_spec", lambda package: package if package in installed else None)
    assert has("redis")
    needs("redis")
    assert not has("train"), "half of it is not enough"
    with pytest.raises(InputError) as refused:
        needs("train", "`turia bench` without a MODEL")
    assert (
        str(refused.value) == "`turia bench` without a MODEL needs the train extra of Turia; "
        f"install it: {install_command('train')}"
    )


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("torch.nn", "train"),
        ("matplotlib", "plot"),
        ("redis.asyncio", "redis"),
        ("ray", "ray"),
        ("systran_align", "align"),
        ("numpy", None),
    ],
)
def test_an_import_that_failed_is_explained_if_it_is_of_an_extra(module: str, extra: str | None) -> None:
    said = missing_extra(ModuleNotFoundError(f"No module named {module!r}", name=module))
    advice = f"this needs the {extra} extra of Turia; install it: {install_command(extra or '')}"
    assert said == (None if extra is None else advice)


def test_other_errors_are_not_explained() -> None:
    assert missing_extra(ModuleNotFoundError("no name")) is None
    assert missing_extra(ImportError("cannot import", name="torch")) is None


REQUIRES = [
    "numpy>=2.0",
    "turia[plot]; extra == 'train'",
    "torch>=2.5; extra == 'train'",
    'matplotlib>=3.9; extra == "plot"',
]


class Installed(Distribution):
    """Turia as it was installed from `url`; from a package index without one."""

    def __init__(self, url: str | None, editable: bool = False) -> None:
        self._files = {"METADATA": "\n".join(f"Requires-Dist: {line}" for line in REQUIRES)}
        if url is not None:
            self._files["direct_url.json"] = json.dumps({"url": url, "dir_info": {"editable": editable}})

    def read_text(self, filename: str) -> str | None:
        return self._files.get(filename)

    def locate_file(self, path: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("has_pip", [True, False])
def test_the_command_is_for_how_turia_was_installed(
    has_pip: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/turia/bin/python")
    monkeypatch.setattr(extras, "find_spec", lambda package: package if has_pip else None)
    monkeypatch.setattr(os, "access", lambda *_: True)
    begin = "/opt/turia/bin/python -m pip install" if has_pip else "uv pip install --python /opt/turia/bin/python"

    def command(installed: Installed) -> str:
        monkeypatch.setattr(extras, "distribution", lambda _: installed)
        return install_command("train").removeprefix(begin)

    here = tmp_path / "my turia"
    assert command(Installed(None)) == " 'turia[train]'"
    # What it came from is gone: its packages are named.
    assert command(Installed(here.as_uri())) == " 'matplotlib>=3.9' 'torch>=2.5'"
    assert command(Installed("https://example.org/turia.whl")) == " 'matplotlib>=3.9' 'torch>=2.5'"
    here.mkdir()
    assert command(Installed(here.as_uri())) == f" '{here}[train]'"
    assert command(Installed(here.as_uri(), editable=True)) == f" -e '{here}[train]'"

    def missing(_: str) -> Distribution:
        raise PackageNotFoundError

    monkeypatch.setattr(extras, "distribution", missing)
    assert install_command("train") == f"{begin} {shlex.quote(f'{ROOT}[train]')}"


def test_in_an_environment_of_pipx_it_is_pipx_that_adds_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pipx_metadata.json").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(extras, "distribution", lambda _: Installed(tmp_path.as_uri()))
    assert install_command("train") == "pipx inject turia 'matplotlib>=3.9' 'torch>=2.5'"


def test_an_environment_that_is_not_ones_own_needs_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/turia/bin/python")
    monkeypatch.setattr(extras, "find_spec", lambda package: package)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert install_command("redis").startswith("sudo /opt/turia/bin/python -m pip install ")


@pytest.mark.parametrize("in_environment", [True, False])
def test_a_python_of_the_system_that_refuses_packages_is_told_to_take_them(
    in_environment: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(extras, "find_spec", lambda package: package)
    monkeypatch.setattr(sys, "prefix", "/opt/turia" if in_environment else sys.base_prefix)
    assert ("--break-system-packages" in install_command("redis")) == (not in_environment)


def test_an_image_is_built_again_with_the_extras_that_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = "docker build -f deploy/Dockerfile --build-arg EXTRAS"
    for built, expected in {"redis": "redis,speech", "": "speech", "speech,redis": "speech,redis"}.items():
        monkeypatch.setenv(extras.IMAGE_EXTRAS, built)
        assert install_command("speech") == f"{begin}={expected} -t turia .  (in the checkout)"
    lines = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    assert f'{extras.IMAGE_EXTRAS}="$EXTRAS"' in lines
    assert '".[$EXTRAS]"' in lines
