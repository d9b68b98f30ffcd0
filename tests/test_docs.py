"""The documents tell the truth: what they say to run runs, what they name exists, and their references are complete.

Blocks marked `<!-- run -->` are run as they stand, in a folder that has what a reader has: the examples, the model
de-en, which came with Turia (where it did not, a folder of that name with a tiny model stands in for it), and what a
page tells of: a Marian checkpoint is a tiny one with random weights. The blocks of the Python page are one program, and
so are those of the tutorial.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer.main

from tests.export.marian_checkpoint import write_checkpoint
from tests.formats.scorers import install_scorers
from tests.test_cli_help import commands
from tests.test_imports import MODULES, imported_modules
from turia import Settings, Translator, config
from turia.cli import app, main

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "turia"
SCREEN = 72
"""Lines of a page that a reader sees at once, on a tall screen."""
PAGES = ("asr", "evaluate", "hub", "logs", "marian", "rest", "simuleval", "subtitles", "translate")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(SOURCE / "models").rglob("*.md")],
    key=lambda path: path.relative_to(ROOT).parts,
)
COMMAND_LINE: Any = typer.main.get_command(app)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(page: str, language: str = "sh") -> list[str]:
    """What a page says to run."""
    found = re.findall(rf"^<!-- run -->\n```{language}\n(.*?)^```$", read(f"docs/{page}.md"), re.MULTILINE | re.DOTALL)
    return [str(block) for block in found]


# --- what is run ------------------------------------------------------------------------------------------------------


@pytest.fixture
def reader(tmp_path: Path, model_folder: Path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "de-en").symlink_to(model_folder)
    return tmp_path


def run_block(block: str, reader: Path, places: list[Path], more: dict[str, str]) -> str:
    path = os.pathsep.join([*map(str, places), os.environ["PATH"]])
    command = ["bash", "-euo", "pipefail", "-c", block]
    environment = os.environ | {"PATH": path, "XDG_STATE_HOME": str(reader / "state"), **more}
    result = subprocess.run(command, cwd=reader, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("page", "block"), [(page, block) for page in PAGES for block in blocks(page)])
def test_what_a_page_says_to_run_runs(page: str, block: str, reader: Path) -> None:
    places = [Path(sys.executable).parent]
    more: dict[str, str] = {}
    if "simuleval --agent" in block or "omnisteval longform" in block:
        scorers = install_scorers()
        places.append(scorers.folder / "bin")
        more = scorers.environment()
    if "curl " in block and shutil.which("curl") is None:
        pytest.skip("needs curl, which is not here")
    if "opus-mt-de-en" in block:
        write_checkpoint(reader / "opus-mt-de-en")
    run_block(block, reader, places, more)


@pytest.mark.slow
def test_the_tutorial_can_be_followed(reader: Path) -> None:
    printed = run_block("\n".join(blocks("tutorial")), reader, [Path(sys.executable).parent], {})
    assert {"talk.de", "talk.en", "talk.jsonl", "captions.srt"} <= {path.name for path in reader.iterdir()}
    assert "-->" in (reader / "captions.srt").read_text(encoding="utf-8")
    assert "6 sentences, 0 of them without words" in printed


@pytest.mark.slow
def test_the_program_of_the_python_page_runs(reader: Path) -> None:
    program = "\n".join(blocks("python", "python"))
    assert {"load", "restore", "run_together", "GivenSegmenter"} <= set(re.findall(r"\w+", program))
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=reader, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    # The words are the model's, and the next one has others.
    assert result.stdout.endswith("the stream has ended; begin a new one\n")


@pytest.mark.slow
def test_the_example_prints_what_turia_translate_prints(
    reader: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ROOT / "examples/speech/source.de"
    monkeypatch.chdir(reader)
    with source.open(encoding="utf-8") as spoken:
        monkeypatch.setattr(sys, "stdin", spoken)
        runpy.run_path(str(ROOT / "examples/translate.py"))
    example = capsys.readouterr().out
    assert main(["translate", str(source)]) == 0
    assert example.split() == capsys.readouterr().out.split() != []


@pytest.mark.parametrize("page", [*PAGES, "bench"])
def test_a_page_fits_on_a_screen(page: str) -> None:
    assert len(read(f"docs/{page}.md").splitlines()) <= SCREEN


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_something_to_run(page: str) -> None:
    assert blocks(page)


# --- what is named ----------------------------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#+ +(.*?) *$", without_blocks(text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = found.get(slug, 0)
        found[slug] = count + 1
        names.add(f"{slug}-{count}" if count else slug)
    return names


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", read(name)):
        file, _, anchor = target.partition("#")
        linked = (ROOT / name).parent / file if file else ROOT / name
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked.read_text(encoding="utf-8")), target


def inline(text: str) -> list[str]:
    """What stands in `code` in the prose of a page; a line break in it is a space."""
    return [" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", without_blocks(text))]


@pytest.mark.parametrize("name", NAMES)
def test_files_that_are_named_are_there(name: str) -> None:
    text = read(name)
    named = {code for code in inline(text) if re.fullmatch(r"[\w.-]+(/[\w.-]+)*\.py|server/[\w/.-]+\.(js|html)", code)}
    named |= set(re.findall(r"(?<![\w./-])(?:recipes|examples|benchmarks|tests)/[\w./-]*\w", text))
    for file in named:
        assert any((folder / file).exists() for folder in (ROOT, SOURCE, ROOT / "docs")), file


def definitions(file: Path) -> set[str]:
    """Functions, classes and methods of a file."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
            names |= {f"{node.name}.{item.name}" for item in inner}
    return names


@pytest.mark.parametrize("page", ["architecture", "method"])
def test_functions_that_tables_name_are_there(page: str) -> None:
    """In a cell such as `file.py` `function`, `Class.method`; `other.py` `function`."""
    checked = 0
    for line in read(f"docs/{page}.md").splitlines():
        cell = line.strip("| ").rpartition(" | ")[2]
        file = None
        for code in inline(cell) if line.startswith("|") and re.match(r"`[\w/]+\.py`", cell) else ():
            if code.endswith(".py"):
                file = SOURCE / code
            elif file is not None and re.fullmatch(r"[A-Za-z_]\w*(\.\w+)?", code) and code.upper() != code:
                assert code in definitions(file), f"{file.name} has no {code}"
                checked += 1
    assert checked > 10


def test_the_diagram_shows_every_room_and_only_imports_that_exist() -> None:
    diagram = re.findall(r"```mermaid\nflowchart(.*?)```", read("docs/architecture.md"), re.DOTALL)[0]
    arrows = {
        (before, after)
        for before, several in re.findall(r"(\w+) --> ([\w &]+)", diagram)
        for after in several.split(" & ")
    }
    imports = {
        (module.split(".")[1], imported.split(".")[1])
        for module in MODULES
        for imported in imported_modules(module)
        if module.count(".") and imported.startswith("turia.")
    }
    rooms = {module.split(".")[1] for module in MODULES if module.count(".") > 1} - {"interop"}
    # Everybody imports recipes and the schema: their arrows would hide the others.
    assert {room for arrow in arrows for room in arrow} == rooms - {"config", "schema"}
    assert arrows <= imports
    for room in rooms:
        assert re.search(rf"^\| [^|]*`{room}/`", read("docs/architecture.md"), re.MULTILINE), room


# --- what is typed ----------------------------------------------------------------------------------------------------


def shell_lines(text: str) -> Iterator[str]:
    """Lines of a page that are for a shell: in blocks marked so, and in indented blocks."""
    fence, before = None, ""
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("```"):
            fence = line[3:] if fence is None else None
        elif (fence is None and line.startswith("    ") and (not before or before.startswith("    "))) or fence == "sh":
            yield line.strip()
        before = line


def turia_commands(line: str) -> Iterator[list[str]]:
    """The arguments of each `turia` in a line of shell; what is redirected and what follows an operator is left out."""
    if not re.search(r"(^|[\s/(])turia [a-z]", line):
        return
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    while "turia" in words or any(word.endswith("/turia") for word in words):
        begin = next(i for i, word in enumerate(words) if word == "turia" or word.endswith("/turia"))
        words = words[begin + 1 :]
        end = next((i for i, word in enumerate(words) if set(word) <= set("|&;<>()")), len(words))
        yield words[:end]


def parse(arguments: list[str]) -> None:
    """Refuses what the command line would refuse before it does anything."""
    group = COMMAND_LINE
    context = group.make_context("turia", list(arguments))
    while hasattr(group, "resolve_command"):
        name, group, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        context = group.make_context(name, rest, parent=context)


COMMAND_LINES = [
    (name, arguments)
    for name in [*NAMES, *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "recipes").rglob("*.toml")))]
    for line in (
        shell_lines(read(name))
        if name.endswith(".md")
        else re.findall(r"^# {3}(turia .*?)(?: {3,}(?!recipes).*)?$", read(name), re.MULTILINE)
    )
    for arguments in turia_commands(line)
]


@pytest.mark.parametrize(("name", "arguments"), COMMAND_LINES, ids=[f"{n}: {' '.join(a)}" for n, a in COMMAND_LINES])
def test_every_command_line_parses(name: str, arguments: list[str]) -> None:
    parse(arguments)


def test_command_lines_were_found_and_wrong_ones_are_refused() -> None:
    assert len(COMMAND_LINES) > 60
    assert list(turia_commands("cat a | .venv/bin/turia translate --k 6 < b > c && turia serve &  # turia x")) == [
        ["translate", "--k", "6"],
        ["serve"],
    ]
    for wrong in (["translte"], ["translate", "--kay", "6"], ["convert", "DIR"], ["translate", "--k", "0"]):
        with pytest.raises(Exception, match=r"(?i)no such|missing|greater|range"):
            parse(wrong)


GROUPS = ("models", "policy", "segmenter")
"""Commands that have commands below them."""
OPTIONS = {
    name.partition(" ")[2]: set(re.findall(r"(?<![\w-])--[\w-]+", part))
    for part in (ROOT / "tests/cli_help.txt").read_text(encoding="utf-8").split("\n$ ")
    for name in commands(COMMAND_LINE)
    if part.removeprefix("$ ").startswith(f"{name} --help")
}


@pytest.mark.parametrize("name", NAMES)
def test_commands_and_options_in_the_prose_exist(name: str) -> None:
    for code in inline(read(name)):
        words = code.replace("--debug ", "").split()
        if words[0] != "turia" or len(words) == 1 or not re.fullmatch(r"[a-z-]+", words[1]):
            continue
        # Options of the program itself come before any command.
        command = "" if words[1].startswith("--") else " ".join(words[1:3]) if words[1] in GROUPS else words[1]
        assert command in OPTIONS or words[1] in GROUPS, code
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert given <= OPTIONS.get(command, set()), code


# --- what must be complete --------------------------------------------------------------------------------------------


def rows(text: str) -> dict[str, str]:
    """The first two columns of the tables of a text: keys and defaults, without their marks."""
    cells = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `"))
    return {first.strip().strip("`"): second.strip().strip("`") for first, second, *_ in cells}


RECIPE_TABLES = {
    "## Training": config.Recipe,
    "### `[data]`": config.Data,
    "### `[[data.train]]` and `[[data.dev]]`": config.Corpus,
    "### `[filters]`": config.Filters,
    "### `[subwords]`": config.SubwordSettings,
    "### `[windows]`": config.Windows,
    "### `[model]`": config.ModelSettings,
    "### `[training]`": config.Training,
    "### `[validation]`": config.Validation,
    "## Segmenters": config.SegmenterRecipe,
    "### `[data]` of a segmenter": config.SegmenterData,
    "### `[model]` of a segmenter": config.SegmenterModel,
    "### `[training]` of a segmenter": config.SegmenterTraining,
    "## Policies": config.PolicyRecipe,
    "### `[chunk]`": config.ChunkHeads,
    "### `[act]`": config.ActHeads,
    "### `[training]` of heads": config.HeadTraining,
    "## Sweeps": config.SweepRecipe,
    "### `[[test]]`": config.SweepTest,
    "### `published`": config.Published,
}


def default_text(field: dataclasses.Field[Any]) -> str:
    """A default as a recipe would have it; nothing where the key is not set."""
    if field.default is dataclasses.MISSING:
        return "required"
    value = field.default
    if isinstance(value, Path):
        value = str(value)
    return "" if value is None else json.dumps(list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize("heading", RECIPE_TABLES)
def test_the_page_of_recipes_has_every_key_with_its_default(heading: str) -> None:
    kind: Any = RECIPE_TABLES[heading]
    section = read("docs/recipes.md").partition(f"\n{heading}\n")[2]
    table = rows(re.split(r"^#", section, maxsplit=1, flags=re.MULTILINE)[0])
    types = get_type_hints(kind)
    # Tables of their own have sections of their own.
    keys = [f for f in dataclasses.fields(kind) if not dataclasses.is_dataclass(types[f.name]) or f.name == "corpus"]
    assert table == {field.name: default_text(field) for field in keys}


def test_the_page_of_settings_has_every_setting() -> None:
    text = read("docs/settings.md")
    named = {field.name for field in dataclasses.fields(Settings)}
    named |= set(inspect.signature(Translator.stream).parameters) - {"self", "segmenter"}
    for table in text.split("\n\n"):
        if table.startswith("| setting"):
            assert set(rows(table)) == named


def test_the_page_of_commands_has_every_command() -> None:
    named = set(re.findall(r"^\| `(turia [a-z -]+)` \|", read("docs/commands.md"), re.MULTILINE))
    assert named == set(commands(COMMAND_LINE)) - {"turia", *(f"turia {group}" for group in GROUPS)}


def test_the_index_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", read("docs/README.md")))
    assert linked == {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}


def test_the_picture_of_the_readme_is_small_enough_to_load() -> None:
    assert (ROOT / "docs/figures/live-page.png").stat().st_size < 200_000
