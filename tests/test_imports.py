"""The direction of imports, and that what a plain install runs needs nothing of an extra.

Read off the syntax tree of every file, so that imports inside functions and under TYPE_CHECKING count too.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from turia.commands.extras import EXTRAS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

# What each room may import beside itself, `config`, `schema` and `errors`.
PURE = {"stream", "text", "policy"}
MAY_IMPORT: dict[str, set[str]] = {
    "system": set(),
    "stream": set(),
    "text": {"stream"},
    "policy": {"stream", "text"},
    "segmenter": {*PURE, "system"},
    "engine": {*PURE, "segmenter"},
    "runtime": {*PURE, "segmenter", "engine", "system"},
    "evaluation": {"stream"},
    "protocol": {"stream", "policy", "text"},
    "formats": {*PURE, "segmenter", "runtime", "engine", "evaluation", "system"},
    "speech": {"stream"},
    # Transcripts are subtitle files. Speakers may send sound.
    "server": {*PURE, "segmenter", "runtime", "engine", "formats", "protocol", "speech", "system"},
    "corpus": {*PURE, "formats", "segmenter", "system"},
    "model": {*PURE, "runtime", "engine", "system"},
    "export": {*PURE, "runtime", "segmenter", "engine", "model", "corpus", "training", "system"},
    # Models of other people: what is converted is tested with the engine.
    "hub": {*PURE, "runtime", "segmenter", "engine", "export", "system"},
    # Validation translates with the engine itself (docs/decisions/014). Training starts from model folders.
    "training": {*PURE, "corpus", "model", "segmenter", "runtime", "engine", "evaluation", "export", "system"},
    "experiments": {*PURE, "formats", "segmenter", "runtime", "engine", "evaluation", "export", "model", "system"},
    "config": {"schema"},
    "schema": set(),
    "errors": set(),
}
# The public API, the command line and the addresses of release 0.1 stand above all rooms; no room imports them.
TOP = ("turia", "turia.__main__", "turia.cli", "turia.commands.", "turia.client", "turia.interop.")

# The rooms that need torch, and those that need any package of the `train` extra.
TORCH = ("turia.model.", "turia.training.", "turia.export.")
TRAIN_EXTRA = (*TORCH, "turia.corpus.", "turia.hub.download", "turia.hub.install")
# Runs only where another program is installed, which imports it itself.
GUESTS = ("turia.export.as_ctranslate2", "turia.formats.simuleval_agent", "turia.interop.simuleval_agent")
# The only modules that may import the packages of the other extras.
OTHER_EXTRAS = (
    "turia.corpus.on_ray",
    "turia.hub.download",
    "turia.server.on_ray",
    "turia.server.stores.redis_answers",
    "turia.server.stores.redis_cluster",
    "turia.server.stores.redis_requests",
    "turia.server.stores.redis",
    "turia.evaluation.plots",
    "turia.training.curves",
    "turia.training.policy.alignment",
    "turia.commands.listen",
    "turia.speech.microphone",
    "turia.speech.sound",
    "turia.speech.voice",
    "turia.speech.vosk",
    "turia.speech.whisper",
)


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


def test_the_extras_have_what_is_looked_for_here() -> None:
    assert "torch" in EXTRAS["train"]
    assert EXTRAS.keys() == {"train", "hub", "plot", "redis", "ray", "align", "audio", "speech", "vosk", "whisper"}


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    if listed(module, TOP):
        return
    room = room_of(module)
    assert room in MAY_IMPORT, f"{module}: a room that the table above does not know"
    for imported in imported_modules(module):
        if imported.startswith("turia."):
            other = room_of(imported)
            allowed = MAY_IMPORT[room] | {room, "config", "schema", "errors"}
            assert other in allowed, f"{module} imports {imported}, which stands above or beside it"


@pytest.mark.parametrize("module", [module for module in MODULES if not listed(module, TRAIN_EXTRA)])
def test_a_plain_install_has_what_this_module_imports(module: str) -> None:
    for imported in imported_modules(module):
        assert imported.split(".")[0] not in EXTRAS["train"], f"{module} imports {imported}"
        # A command or an experiment may need the extra; it imports it when it is asked for.
        if not module.startswith(("turia.commands.", "turia.experiments.")):
            assert not listed(imported, TRAIN_EXTRA), f"{module} imports {imported}, which needs the train extra"


@pytest.mark.parametrize("module", [module for module in MODULES if not listed(module, TORCH)])
def test_torch_stays_where_it_belongs(module: str) -> None:
    assert not [name for name in imported_modules(module) if name.split(".")[0] == "torch"]


@pytest.mark.parametrize("module", [module for module in MODULES if not listed(module, OTHER_EXTRAS)])
def test_many_machines_plots_and_sound_are_extras(module: str) -> None:
    others = {package for packages in EXTRAS.values() for package in packages} - set(EXTRAS["train"])
    assert not {name.split(".")[0] for name in imported_modules(module)} & others


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
    left_out = (*TRAIN_EXTRA, *OTHER_EXTRAS, *GUESTS, "turia.__main__")
    modules = [name for name in MODULES if not listed(name, left_out)]
    assert {"turia.stream.trace", "turia.policy.waitk", "turia.policy.masks"} <= set(modules)
    blocked = [package for packages in EXTRAS.values() for package in packages]
    command = [sys.executable, "-c", BLOCKED_IMPORT, ",".join(blocked), ",".join(modules)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_engine_s_core_loads_numpy_and_nothing_heavier() -> None:
    heavy = {"onnxruntime", "sentencepiece", "fastapi", "matplotlib", "rich", "lxml", "sacrebleu", "torch"}
    program = f"import sys, turia.engine.stream; print(sorted({heavy} & sys.modules.keys()), 'numpy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[] True\n"


def test_the_blocker_blocks() -> None:
    command = [sys.executable, "-c", BLOCKED_IMPORT, "torch", "turia.model.layers"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "torch is not in a plain install" in result.stderr
