"""Killed at any moment and started again, a run ends with the weights of one that was never stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.training.toy import toy_recipe
from turia.config import Recipe
from turia.errors import ConfigError, ResourceError
from turia.model.checkpoint import load_tensors
from turia.training.loop import train
from turia.training.run import RunFolder

STEPS = 24


def short(folder: Path) -> Recipe:
    # Dropout on, batches growing, windows joining late: all that could depend on state does.
    recipe = toy_recipe(
        folder,
        steps=STEPS,
        warmup_steps=5,
        dropout=0.1,
        batch_tokens_start=400,
        batch_growth_steps=10,
        windows_from=0.4,
        accumulate=2,
        clip=1.0,
        save_steps=5,
        keep=3,
    )
    return replace(recipe, validation=replace(recipe.validation, steps=10, bleu_sentences=8, bleu_k=(4,)))


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_tensors(RunFolder(run).checkpoint(STEPS) / "model.safetensors")


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], atol=1e-6, rtol=0)


KILLED = """
import os, signal, sys
from tests.training.test_resume import short
from pathlib import Path
import turia.training.loop as loop
recipe, stop, moment = short(Path(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
if moment == "saving":
    # Die in the middle of writing a checkpoint: its folder exists, incomplete.
    import turia.model.checkpoint as checkpoint
    write = checkpoint.write_durably
    def dying(path, content):
        if f"{stop:08d}" in str(path) and path.name.startswith("optimizer"):
            path.write_bytes(content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        write(path, content)
    checkpoint.write_durably = dying
else:
    step = loop.Trainer._step
    def dying_step(self):
        result = step(self)
        if self.progress.step == stop:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    loop.Trainer._step = dying_step
loop.train(recipe, print)
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    folder = tmp_path_factory.mktemp("undisturbed")
    return weights(train(short(folder), lambda _: None))


@pytest.mark.parametrize(("stop", "moment"), [(3, "stepping"), (13, "stepping"), (15, "saving")])
def test_killed_and_resumed_ends_the_same(
    tmp_path: Path, undisturbed: dict[str, torch.Tensor], stop: int, moment: str
) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(stop), moment]
    killed = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    saved = RunFolder(tmp_path / "run").steps()
    assert (saved[-1] if saved else 0) == 5 * ((stop - 1) // 5 if moment == "saving" else stop // 5)
    train(short(tmp_path), lambda _: None)
    assert_same(weights(tmp_path / "run"), undisturbed)
    steps = [entry["step"] for entry in RunFolder(tmp_path / "run").read_log()]
    assert steps == sorted(steps), "the log of the steps that were lost is dropped"


def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = short(tmp_path)
    train(replace(recipe, training=replace(recipe.training, steps=5)), lambda _: None)
    import turia.model.checkpoint as checkpoint

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "write_durably", full)
    with pytest.raises(ResourceError, match=r"could not save.*No space left.*untouched"):
        train(recipe, lambda _: None)
    assert RunFolder(recipe.run).steps() == [5]
    assert len(load_tensors(RunFolder(recipe.run).newest() / "model.safetensors")) > 0


def test_another_model_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    recipe = short(tmp_path)
    train(replace(recipe, training=replace(recipe.training, steps=1)), lambda _: None)
    with pytest.raises(ConfigError, match="another model"):
        train(replace(recipe, model=replace(recipe.model, width=32)), lambda _: None)


def test_fine_tuning_starts_from_another_run(tmp_path: Path) -> None:
    recipe = short(tmp_path)
    train(replace(recipe, training=replace(recipe.training, steps=5)), lambda _: None)
    tuned = replace(
        recipe,
        run=tmp_path / "tuned",
        training=replace(recipe.training, start_from=recipe.run, schedule="fixed", learning_rate=0.0, steps=1),
    )
    train(tuned, lambda _: None)
    assert_same(
        load_tensors(RunFolder(tuned.run).checkpoint(1) / "model.safetensors"),
        load_tensors(RunFolder(recipe.run).checkpoint(5) / "model.safetensors"),
    )


def test_checkpoints_are_pruned_but_for_the_best(tmp_path: Path) -> None:
    recipe = train(short(tmp_path), lambda _: None)
    run = RunFolder(recipe)
    assert run.steps()[-3:] == [15, 20, 24]
    best = run.best()
    assert best is not None
    assert best.exists()
