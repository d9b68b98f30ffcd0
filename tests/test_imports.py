"""The direction of imports, and that what a plain install runs needs nothing of the `train` extra.

Read off the syntax tree of every file, so that imports inside functions and under TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

# What each room may import beside itself, `config`, `typed` and `errors`.
MAY_IMPORT = {
    "stream": set[str](),
    "text": {"stream"},
    "policy": {"stream"},
    "corpus": {"stream", "text", "policy", "locking"},
    "model": {"stream", "text", "policy"},
    # Validation translates with the engine itself (docs/decisions/014).
    "training": {
        "stream",
        "text",
        "policy",
        "corpus",
        "model",
        "segmenter",
        "runtime",
        "engine",
        "evaluation",
        "stopping",
        "locking",
    },
    "segmenter": {"stream", "text", "policy", "corpus", "model", "stopping", "locking"},
    "runtime": {"stream", "text", "policy", "model"},
    "engine": {"stream", "text", "policy", "model", "segmenter", "runtime"},
    # Transcripts are subtitle files.
    "server": {"stream", "text", "policy", "segmenter", "runtime", "engine", "interop"},
    "client": set[str](),
    # Sweeps read test sets; `turia send` speaks to a server.
    "interop": {
        "client",
        "stream",
        "text",
        "policy",
        "corpus",
        "model",
        "segmenter",
        "runtime",
        "engine",
        "evaluation",
        "stopping",
    },
    "evaluation": {"stream"},
    "config": {"typed"},
    "typed": set[str](),
    "stopping": set[str](),
    "locking": set[str](),
    "errors": set[str](),
}
# The public API, the command line and its progress bars stand above all rooms; no room imports them.
TOP = ("turia", "turia.__main__", "turia.cli", "turia.commands.", "turia.console")

# The only modules that may import torch. A name that ends in a dot stands for a whole room.
TORCH = (
    "turia.model.checkpoint",
    "turia.model.layers",
    "turia.model.transformer",
    "turia.training.",
    "turia.segmenter.learner",
    "turia.segmenter.network",
    "turia.segmenter.training",
    "turia.segmenter.export",
    "turia.runtime.export",
)
# The only modules that may need any package of the `train` extra.
TRAIN_EXTRA = (
    *TORCH,
    "turia.corpus.chunks",
    "turia.corpus.filters",
    "turia.corpus.prepare",
    "turia.corpus.report",
    "turia.runtime.graph",
    "turia.runtime.random_model",
    "turia.runtime.stored",
)
# Runs only where another program is installed, which imports it itself.
GUESTS = ("turia.interop.simuleval_agent",)
# The only modules that may import the packages of the `ray` and `redis` extras.
MANY_MACHINES = ("turia.corpus.on_ray", "turia.server.on_ray", "turia.server.redis_cluster", "turia.server.redis_store")


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def room_of(module: str) -> str:
    return module.split(".")[1]


def listed(module: str, names: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(name) if name.endswith(".") else module == name for name in names)


def imported_modules(module: str) -> set[str]:
    """Every module that the file imports; `from a import b` is a.b where that is a module of ours."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
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
    return found


def train_packages() -> set[str]:
    """Top-level modules of the packages that only the `train` extra installs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[^\w-]", requirement)[0] for requirement in project["optional-dependencies"]["train"]}
    assert "torch" in names
    return {name.replace("-", "_") for name in names}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    if listed(module, TOP):
        return
    room = room_of(module)
    assert room in MAY_IMPORT, f"{module}: a room that the table above does not know"
    for imported in imported_modules(module):
        if imported.startswith("turia."):
            other = room_of(imported)
            allowed = MAY_IMPORT[room] | {room, "config", "typed", "errors"}
            assert other in allowed, f"{module} imports {imported}, which stands above or beside it"


@pytest.mark.parametrize("module", [module for module in MODULES if not listed(module, TRAIN_EXTRA)])
def test_a_plain_install_has_what_this_module_imports(module: str) -> None:
    forbidden = train_packages()
    for imported in imported_modules(module):
        assert imported.split(".")[0] not in forbidden, f"{module} imports {imported}"
        # A command of the command line may need the extra; it imports it when it is called.
        if not module.startswith("turia.commands."):
            assert not listed(imported, TRAIN_EXTRA), f"{module} imports {imported}, which needs the train extra"


@pytest.mark.parametrize("module", [module for module in MODULES if not listed(module, TORCH)])
def test_torch_stays_where_it_belongs(module: str) -> None:
    assert not [name for name in imported_modules(module) if name.split(".")[0] == "torch"]


@pytest.mark.parametrize("module", [module for module in MODULES if not listed(module, MANY_MACHINES)])
def test_many_machines_are_an_extra(module: str) -> None:
    assert not {name.split(".")[0] for name in imported_modules(module)} & {"ray", "redis"}


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


def test_inference_server_and_evaluation_import_without_torch() -> None:
    left_out = (*TRAIN_EXTRA, *MANY_MACHINES, *GUESTS, "turia.__main__")
    modules = [name for name in MODULES if not listed(name, left_out)]
    assert {"turia.stream.trace", "turia.policy.waitk", "turia.model.masks"} <= set(modules)
    blocked = train_packages() | {"ray", "redis"}
    command = [sys.executable, "-c", BLOCKED_IMPORT, ",".join(blocked), ",".join(modules)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_blocker_blocks() -> None:
    command = [sys.executable, "-c", BLOCKED_IMPORT, "torch", "turia.model.layers"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "torch is not in a plain install" in result.stderr
