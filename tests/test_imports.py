"""The direction of imports, and that what a plain install runs needs nothing of an extra.

Read off the syntax tree of every file, so that imports inside functions and under TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from turia.commands.extras import EXTRAS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

# What each package may import beside itself, `config`, `schema` and `errors`.
PURE = {"stream", "text", "policy"}
MAY_IMPORT: dict[str, set[str]] = {
    "system": set(),
    "stream": set(),
    "text": {"stream"},
    "policy": {"stream", "text"},
    "segmenter": {*PURE, "system"},
    "engine": {*PURE, "segmenter"},
    "runtime": {*PURE, "segmenter", "engine", "system"},
    "evaluation": {"stream", "text"},
    "protocol": {"stream", "policy", "text"},
    "formats": {*PURE, "segmenter", "runtime", "engine", "evaluation", "system"},
    "speech": {"stream", "system"},
    # Transcripts are subtitle files. Speakers may send sound.
    "server": {*PURE, "segmenter", "runtime", "engine", "formats", "protocol", "speech", "system"},
    "corpus": {*PURE, "formats", "system"},
    "model": {*PURE, "runtime", "engine", "system"},
    "export": {*PURE, "runtime", "engine", "system"},
    # Models of other people: what is converted is tested with the engine.
    "hub": {*PURE, "runtime", "segmenter", "engine", "export", "system"},
    # Validation translates with the engine itself (docs/decisions/014). Training starts from model folders.
    "training": {*PURE, "corpus", "model", "segmenter", "runtime", "engine", "export", "system"},
    "experiments": {*PURE, "formats", "segmenter", "runtime", "engine", "evaluation", "system"},
    "config": {"schema"},
    "schema": set(),
    "errors": set(),
}
# The public API, the command line and the addresses of release 0.1 stand above all packages; no package imports them.
TOP = ("turia", "turia.__main__", "turia.cli", "turia.commands.", "turia.client", "turia.interop.")

# The packages that may import torch, and the extras whose libraries a package may import. The others have none.
TORCH = {"model", "training"}
EXTRAS_OF: dict[str, set[str]] = {
    "model": {"train"},
    "training": {"train", "plot", "align"},
    "corpus": {"train", "ray"},
    # Weights to graphs. The train extra has these packages too.
    "export": {"hub"},
    "hub": {"hub"},
    "evaluation": {"plot"},
    "server": {"redis", "ray"},
    "speech": {"audio", "speech", "vosk", "whisper"},
}
# The packages that need their extra as a whole: a plain install has no use for any file of them.
WHOLE = {"model", "training", "corpus", "export"}
# Programs and libraries of other people that are no part of an extra; what imports them at its top runs only there.
FOREIGN = {"ctranslate2", "simuleval"}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def package_of(module: str) -> str:
    return module.split(".")[1]


def listed(module: str, names: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(name) if name.endswith(".") else module == name for name in names)


def libraries(extras: Iterable[str]) -> set[str]:
    return {library for extra in extras for library in EXTRAS[extra]}


@cache
def imported_modules(module: str, at_top: bool = False) -> frozenset[str]:
    """Every module that the file imports, or imports as soon as it is imported itself; `from a import b` is a.b where
    that is a module of ours."""
    found: set[str] = set()
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in tree.body if at_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import; write it out"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                # The root package holds the version; whoever takes more from it imports upwards.
                upwards = node.module == "turia" and alias.name != "__version__"
                found.add(inner if upwards or inner in MODULES else node.module)
    return frozenset(found)


def test_the_extras_have_what_is_looked_for_here() -> None:
    assert "torch" in EXTRAS["train"]
    assert EXTRAS.keys() == {"train", "hub", "plot", "redis", "ray", "align", "audio", "speech", "vosk", "whisper"}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    if listed(module, TOP):
        return
    package = package_of(module)
    assert package in MAY_IMPORT, f"{module}: a package that the table above does not know"
    for imported in imported_modules(module):
        if imported.startswith("turia."):
            other = package_of(imported)
            allowed = MAY_IMPORT[package] | {package, "config", "schema", "errors"}
            assert other in allowed, f"{module} imports {imported}, which stands above or beside it"


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"turia"}))
def test_a_package_imports_libraries_of_its_own_extras_alone(module: str) -> None:
    package = package_of(module)
    imported = imported_modules(module)
    others = libraries(EXTRAS) - libraries(EXTRAS_OF.get(package, ()))
    assert not {name.split(".")[0] for name in imported} & others
    if package not in TORCH:
        assert "torch" not in {name.split(".")[0] for name in imported}
    # A command may need any package; it imports it when it is asked for. Packages of an extra have it.
    if package not in EXTRAS_OF and not listed(module, TOP):
        assert not [name for name in imported if name.startswith("turia.") and package_of(name) in WHOLE]


def test_commands_import_what_an_extra_has_when_they_are_asked_for() -> None:
    for module in MODULES:
        if module.startswith("turia.commands."):
            at_top = {name for name in imported_modules(module, at_top=True) if name.startswith("turia.")}
            assert not {package_of(name) for name in at_top} & {*WHOLE, "hub"}, module


BLOCKED_IMPORT = """
import importlib, sys
blocked, modules = sys.argv[1].split(","), sys.argv[2].split(",")

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ModuleNotFoundError(f"{name} is not in a plain install", name=name)

sys.meta_path.insert(0, Blocker())
for module in modules:
    importlib.import_module(module)
"""


def importable(packages: Iterable[str], extras: Iterable[str]) -> None:
    """Imports all of the packages, in a process that has only the libraries of some extras; but for the files that
    import a library of another extra at their top. Whoever imports such a file at its own top is found out, unless
    both are in one folder for such files (`server/stores`)."""
    blocked = libraries(EXTRAS) - libraries(extras)
    needing = {
        module
        for module in MODULES
        if {name.split(".")[0] for name in imported_modules(module, at_top=True)} & (blocked | FOREIGN)
    }
    while beside := {
        module
        for module in MODULES.keys() - needing
        if module.count(".") > 2
        if any(
            name.rpartition(".")[0] == module.rpartition(".")[0] for name in imported_modules(module, True) & needing
        )
    }:
        needing |= beside
    modules = [
        module
        for module in MODULES.keys() - needing
        if module.count(".") and package_of(module) in packages and module != "turia.__main__"
    ]
    command = [sys.executable, "-c", BLOCKED_IMPORT, ",".join(sorted(blocked)), ",".join(modules)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_a_plain_install_imports_all_but_the_packages_of_extras() -> None:
    packages = {package_of(module) for module in MODULES if module.count(".")} - {*WHOLE, "hub", "interop"}
    assert {
        "stream",
        "policy",
        "engine",
        "runtime",
        "server",
        "evaluation",
        "experiments",
        "cli",
        "commands",
    } <= packages
    importable(packages, ())


@pytest.mark.slow
def test_models_of_the_hub_need_no_torch() -> None:
    importable({"hub", "export"}, {"hub"})


def test_the_engine_s_core_loads_numpy_and_nothing_else() -> None:
    """Beside the standard library, and what the interpreter has loaded by itself."""
    program = (
        "import sys; before = set(sys.modules); import turia.engine.stream\n"
        "print(*{name.partition('.')[0] for name in sys.modules.keys() - before})"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(result.stdout.split()) - sys.stdlib_module_names == {"numpy", "turia"}


def test_the_blocker_blocks() -> None:
    command = [sys.executable, "-c", BLOCKED_IMPORT, "torch", "turia.model.layers"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "torch is not in a plain install" in result.stderr
