"""Two nodes train, one rank is killed: torchrun begins all ranks again, and they go on from the last checkpoint."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import torch

from tests.server.servers import free_port
from tests.training.toy import toy_recipe
from turia.config import Recipe
from turia.model.checkpoint import load_tensors
from turia.training.loop import train
from turia.training.run import RunFolder

STEPS = 12


def recipe(folder: Path, accumulate: int) -> Recipe:
    made = toy_recipe(folder, steps=STEPS, warmup_steps=2, accumulate=accumulate, dropout=0.1)
    return replace(
        made,
        model=replace(made.model, width=None, feed_forward=None),
        validation=replace(made.validation, steps=4, bleu_sentences=0),
    )


RANK = """
import os, signal, sys, threading, time
from pathlib import Path
from tests.training.test_elastic import recipe
from turia.training.loop import train

folder = Path(sys.argv[1])
life = os.environ["TORCHELASTIC_RESTART_COUNT"]

def die_after_the_first_checkpoint():
    while not (folder / "run/checkpoints/step-00000004").exists():
        time.sleep(0.002)
    os.kill(os.getpid(), signal.SIGKILL)

if os.environ["RANK"] == "1" and life == "0":
    threading.Thread(target=die_after_the_first_checkpoint, daemon=True).start()
train(recipe(folder, accumulate=1), lambda _: None)
(folder / f"ended-{os.environ['RANK']}").write_text(life)
"""


def test_a_killed_rank_costs_the_steps_since_the_last_checkpoint_and_nothing_else(tmp_path: Path) -> None:
    """Two agents on this machine, as two machines with a shared folder have them; against one process, undisturbed."""
    script, alone, pair = tmp_path / "rank.py", tmp_path / "alone", tmp_path / "pair"
    script.write_text(RANK)
    train(recipe(alone, accumulate=2), lambda _: None)
    recipe(pair, accumulate=1)  # prepares the data once, before two ranks read it
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", "--max-restarts=3"]
    command += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--rdzv-id=test", str(script)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    agents = [
        subprocess.Popen([*command, str(pair)], cwd=root, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for agent in agents:
        _, errors = agent.communicate(timeout=400)
        assert agent.returncode == 0, errors
    assert (pair / "ended-1").read_text() == "1", "rank 1 was not killed, or not begun again"
    runs = [RunFolder(folder / "run") for folder in (alone, pair)]
    assert [run.steps()[-1] for run in runs] == [STEPS, STEPS]
    one, other = (load_tensors(run.newest() / "model.safetensors") for run in runs)
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], atol=1e-5, rtol=0)
