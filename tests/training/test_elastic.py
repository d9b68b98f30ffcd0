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
from turia.training.run import RunFolder

STEPS = 16


def recipe(folder: Path) -> Recipe:
    made = toy_recipe(folder, steps=STEPS, warmup_steps=2, dropout=0.1)
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

folder, kills = Path(sys.argv[1]), sys.argv[2] == "kills"
life = os.environ["TORCHELASTIC_RESTART_COUNT"]

def die_after_the_first_checkpoint():
    while not (folder / "run/checkpoints/step-00000004").exists():
        time.sleep(0.002)
    os.kill(os.getpid(), signal.SIGKILL)

if kills and os.environ["RANK"] == "1" and life == "0":
    threading.Thread(target=die_after_the_first_checkpoint, daemon=True).start()
train(recipe(folder), lambda _: None)
(folder / f"ended-{os.environ['RANK']}").write_text(life)
"""


def run_on_two_nodes(folder: Path, script: Path, kills: bool) -> None:
    """Two agents on this machine, as two machines with a shared folder would have them."""
    recipe(folder)  # prepares the data once, before two ranks read it
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", "--max-restarts=3"]
    command += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--rdzv-id=test", str(script)]
    command += [str(folder), "kills" if kills else "lets live"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    agents = [subprocess.Popen(command, cwd=root, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for agent in agents:
        _, errors = agent.communicate(timeout=400)
        assert agent.returncode == 0, errors


def test_a_killed_rank_costs_the_steps_since_the_last_checkpoint_and_nothing_else(tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    run_on_two_nodes(calm, script, kills=False)
    run_on_two_nodes(disturbed, script, kills=True)
    assert [(disturbed / f"ended-{rank}").read_text() for rank in (0, 1)] == ["1", "1"]
    one, other = (
        load_tensors(RunFolder(folder / "run").newest() / "model.safetensors") for folder in (calm, disturbed)
    )
    assert RunFolder(disturbed / "run").steps()[-1] == STEPS
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], atol=1e-6, rtol=0)
