"""Two processes compute what one does with double accumulation."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.training.toy import toy_recipe
from turia.config import Recipe
from turia.model.checkpoint import load_tensors
from turia.training.loop import train
from turia.training.run import RunFolder

STEPS = 6


def recipe(folder: Path, accumulate: int) -> Recipe:
    made = toy_recipe(folder, steps=STEPS, warmup_steps=2, accumulate=accumulate, dropout=0.1, clip=1.0)
    return replace(
        made,
        model=replace(made.model, width=None, feed_forward=None),
        validation=replace(made.validation, steps=2, bleu_sentences=0),
    )


RANK = """
import sys
from pathlib import Path
from tests.training.test_distributed import recipe
from turia.training.loop import train
train(recipe(Path(sys.argv[1]), accumulate=1), print)
"""


def test_two_ranks_equal_double_accumulation(tmp_path: Path) -> None:
    alone, pair = tmp_path / "alone", tmp_path / "pair"
    train(recipe(alone, accumulate=2), lambda _: None)
    recipe(pair, accumulate=1)  # prepares the data once, before two ranks read it
    root = Path(__file__).parents[2]
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        str(script),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    done = subprocess.run([*command, str(pair)], cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    logs = [RunFolder(folder / "run").read_log() for folder in (alone, pair)]
    curves = [[entry["dev_loss"] for entry in log if "dev_loss" in entry] for log in logs]
    assert len(curves[0]) == STEPS / 2
    assert curves[1] == pytest.approx(curves[0], abs=1e-5)
    losses = [[entry["loss"] for entry in log if "loss" in entry] for log in logs]
    assert losses[1][-1] == pytest.approx(losses[0][-1], abs=1e-5)
    one, other = (load_tensors(RunFolder(f / "run").newest() / "model.safetensors") for f in (alone, pair))
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], atol=1e-5, rtol=0)
