"""Where things are: a module's tests are in the test file of its name, no class name is used twice, files are short,
and only `system/` deals with the machine.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.test_imports import MODULES, ROOT

TESTS = ROOT / "tests"

# Modules without a test file of their name. The reason says where their tests are, or why there are none.
ELSEWHERE = {
    "turia.__main__": "four lines; test_cli.py and others start the program by it",
    "turia.interop.simuleval_agent": "the old address of formats/simuleval_agent.py; needs SimulEval",
    # What only a whole stream shows.
    "turia.engine.backend": "the types of requests; engine/test_stream.py",
    "turia.engine.draft": "engine/test_policies.py",
    "turia.engine.writer": "engine/test_search.py and engine/test_stream.py",
    # What only a whole model shows.
    "turia.runtime.states": "runtime/test_graphs.py and runtime/test_native.py",
    "turia.model.naive": "three lines; experiments/test_bench.py",
    # What only a whole run shows.
    "turia.training.loop": "training/test_resume.py, test_stopping.py, test_elastic.py and test_tiny.py",
    # What needs a cluster.
    "turia.corpus.on_ray": "test_many_machines.py",
}


def where_tests_are(module: str) -> Path:
    *packages, name = module.split(".")[1:]
    return TESTS.joinpath(*packages, f"test_{name}.py")


CODE = [module for module, path in MODULES.items() if path.name != "__init__.py"]


def test_every_module_has_a_test_file_of_its_name() -> None:
    missing = {module for module in CODE if not where_tests_are(module).exists()}
    assert missing - ELSEWHERE.keys() == set(), "write the test file, or say above why there is none"
    assert ELSEWHERE.keys() - missing == set(), "has a test file now, or is no more: take it off the list above"


@pytest.mark.parametrize("module", ELSEWHERE)
def test_the_tests_that_the_list_names_are_there(module: str) -> None:
    for name in re.findall(r"[\w/]*test_\w+\.py", ELSEWHERE[module]):
        package = TESTS.joinpath(*module.split(".")[1:-1])
        assert (TESTS / name).is_file() or (package / name).is_file(), name


GATHERED = ("turia.config", "turia.schema")
"""Packages that everybody imports from: their own file has the names of all their files."""


def test_a_package_has_no_code_in_its_own_file() -> None:
    """But for the public names of `turia` itself: a module has a name by which its tests are found."""
    for module, path in MODULES.items():
        if path.name == "__init__.py" and module != "turia":
            docstring, *rest = ast.parse(path.read_text(encoding="utf-8")).body or [ast.Pass()]
            assert isinstance(docstring, ast.Expr), f"{module}: expected a docstring"
            if module in GATHERED:
                *imports, names = rest
                assert all(isinstance(node, ast.ImportFrom) for node in imports)
                assert isinstance(names, ast.Assign)
                assert ast.unparse(names.targets[0]) == "__all__"
            else:
                assert rest == [], f"{module}: expected a docstring alone"


MOST_LINES = 500
"""A hard limit; 400 are plenty for one subject."""


def test_a_file_has_one_subject_and_few_lines() -> None:
    lengths = {module: path.read_text(encoding="utf-8").count("\n") for module, path in MODULES.items()}
    assert {module: lines for module, lines in lengths.items() if lines > MOST_LINES} == {}


def test_no_class_name_is_used_twice() -> None:
    places: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


NOT_CALLED_HERE = {
    "find_class": "pickle",
    "persistent_load": "pickle",
    "redirect_request": "urllib",
    "handle_exit": "uvicorn",
    "send_400_response": "uvicorn",
    "check_health": "Ray",
    "record_autoscaling_stats": "Ray",
    "restore_audience": "users of the Python API",
}
"""Functions that nobody calls in this repository, and who does."""


def test_no_function_is_there_for_tests_alone() -> None:
    files = [path for folder in ("src", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    uses = Counter(name for path in files for name in re.findall(r"\w+", path.read_text(encoding="utf-8")))
    unused = {
        node.name
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        # Frameworks call what is decorated, and Python what has underscores around its name.
        if uses[node.name] < 2 and not node.decorator_list and not node.name.startswith("__")
    }
    assert unused == NOT_CALLED_HERE.keys()


MACHINE = {
    "files": r"os\.replace|\.rename\(|os\.fsync|mkdtemp|mkstemp",
    "locks": r"fcntl|flock",
    "signals": r"signal\.signal\(|add_signal_handler",
    "processes": r"ProcessPoolExecutor",
    "reading": r"sys\.stdin",
    "onnx": r"SessionOptions\(|InferenceSession\(",
}
"""What is done in one way, by the module of `system/` that does it."""


@pytest.mark.parametrize("subject", MACHINE)
def test_the_machine_is_dealt_with_in_one_place(subject: str) -> None:
    assert re.search(MACHINE[subject], MODULES[f"turia.system.{subject}"].read_text(encoding="utf-8"))
    for module, path in MODULES.items():
        if not module.startswith("turia.system."):
            found = re.search(MACHINE[subject], path.read_text(encoding="utf-8"))
            assert found is None, f"{module}: {found and found[0]}; system/{subject}.py does that"
