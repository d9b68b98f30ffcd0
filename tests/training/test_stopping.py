"""`turia train` that is asked to go saves first, and goes on later as if nothing had been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.test_elastic import recipe as elastic
from tests.training.test_resume import assert_same, short, weights
from tests.training.toy import TINY
from turia.cli import main
from turia.errors import Stopped
from turia.training.loop import Trainer, train
from turia.training.run import RunFolder
from turia.training.validation import validate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """recipes/tiny.toml with folders of its own, prepared."""
    folder = tmp_path_factory.mktemp("stopped")
    text = TINY.read_text(encoding="utf-8").replace('"toy/', f'"{TINY.parent.as_posix()}/toy/')
    path = folder / "recipe.toml"
    path.write_text(text.replace('"../runs/', '"'), encoding="utf-8")
    assert main(["prepare", str(path), "--processes", "1"]) == 0
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_saves_where_it_is_and_says_so(recipe: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "turia", "train", str(recipe), "--fresh"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    # Its first line comes when signals are noted and before the first step.
    assert "million parameters" in process.stderr.readline()
    process.send_signal(number)
    out, rest = process.communicate()
    run = RunFolder(recipe.parent / "tiny")
    [step] = run.steps()
    assert 1 <= step < 500
    # On a slow machine there is a line of progress before.
    assert rest.splitlines()[-1] == f"stopped: step {step} is saved, and the same command goes on from it"
    assert (process.returncode, out) == (128 + number, "")


def test_a_second_command_is_refused_until_the_first_is_dead(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "turia", "train", str(recipe), "--fresh"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    run = recipe.parent / "tiny"
    try:
        assert process.stderr is not None
        assert "million parameters" in process.stderr.readline()
        assert main(["train", str(recipe), "--fresh"]) == 1
        assert capsys.readouterr().err == f"error: {run}: another `turia train` is at work there; wait for it\n"
    finally:
        process.kill()
        process.communicate()
    with RunFolder(run).alone():
        pass


def test_stopped_in_a_step_it_ends_with_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = train(short(tmp_path / "one"), lambda _: None)
    step = Trainer._step

    def signalled(self: Trainer) -> tuple[float, int]:
        if self.progress.step == 6:
            signal.raise_signal(signal.SIGTERM)
        return step(self)

    monkeypatch.setattr(Trainer, "_step", signalled)
    with pytest.raises(Stopped) as stopped:
        train(short(tmp_path / "two"), lambda _: None)
    assert stopped.value.exit_code == 143
    run = RunFolder(tmp_path / "two" / "run")
    assert run.steps() == [5, 7]
    monkeypatch.undo()
    train(short(tmp_path / "two"), lambda _: None)
    assert_same(weights(run.path), weights(undisturbed))


def test_nobody_waits_for_a_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def signalled(*arguments: Any) -> dict[str, float]:
        signal.raise_signal(signal.SIGINT)
        return validate(*arguments)

    monkeypatch.setattr("turia.training.loop.validate", signalled)
    recipe = short(tmp_path)
    with pytest.raises(Stopped) as stopped:
        train(recipe, lambda _: None)
    assert stopped.value.exit_code == 130
    run = RunFolder(recipe.run)
    assert run.steps() == [5, 10]
    assert not any("dev_loss" in entry for entry in run.read_log())
    monkeypatch.undo()
    train(recipe, lambda _: None)
    # What was left is looked at first thing.
    assert [entry["step"] for entry in run.read_log() if "dev_loss" in entry] == [10, 18]


BROKEN_OFF = """
import os, signal, sys
from pathlib import Path
from tests.training.test_elastic import recipe
from turia.errors import Stopped
from turia.training import loop

loop.draw_curves = lambda log, path: None
validate = loop.validate

def signalled(*arguments):
    signal.raise_signal(signal.SIGTERM)
    return validate(*arguments)

loop.validate = signalled
try:
    loop.train(recipe(Path(sys.argv[1]), 1, "adam"), lambda _: None)
except Stopped as stopped:
    (Path(sys.argv[1]) / f"stopped-{os.environ['RANK']}").write_text(str(stopped.exit_code))
"""


def test_nobody_waits_for_a_validation_of_several_processes(tmp_path: Path) -> None:
    """The leader breaks it off, and the other one, which has had no signal, ends with it."""
    script = tmp_path / "rank.py"
    script.write_text(BROKEN_OFF)
    elastic(tmp_path, 1, "adam")
    root = TINY.parents[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", str(script)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    ended = subprocess.run(
        [*command, str(tmp_path)], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert [(tmp_path / f"stopped-{rank}").read_text() for rank in (0, 1)] == ["143", "143"]
    run = RunFolder(tmp_path / "run")
    assert run.steps() == [4]
    assert not any("dev_loss" in entry for entry in run.read_log())
