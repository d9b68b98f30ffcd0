"""Two processes compute what one does with double accumulation, also when one of them is killed on the way.

Then torchrun begins all ranks again, and they go on from the last checkpoint.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.server.servers import free_port
from tests.training.toy import toy_recipe
from turia.config import Positions, Recipe
from turia.model.checkpoint import load_tensors
from turia.training.loop import train
from turia.training.run import RunFolder

pytestmark = pytest.mark.slow

STEPS = 8
MUON = {"optimizer": "muon", "paths": "any", "any_share": 0.5, "skip_unlikely": 2.0, "last_sentence_weight": 2.5}


def recipe(folder: Path, accumulate: int, kind: str) -> Recipe:
    """`kind`: the first release's way of learning, or Muon with rotary positions and random paths."""
    more = MUON if kind == "muon" else {}
    made = toy_recipe(folder, steps=STEPS, warmup_steps=2, accumulate=accumulate, dropout=0.1, clip=1.0, **more)
    positions: Positions = "rotary" if kind == "muon" else "sinusoidal"
    return replace(
        made,
        model=replace(made.model, width=None, feed_forward=None, positions=positions),
        validation=replace(made.validation, steps=4, bleu_sentences=0),
    )


RANK = """
import os, signal, sys
from hashlib import sha256
from pathlib import Path
from tests.training.test_elastic import recipe
from turia.training import loop
from turia.training.loop import Trainer, train

loop.draw_curves = lambda log, path: None
folder, kind = Path(sys.argv[1]), sys.argv[2]
life = os.environ["TORCHELASTIC_RESTART_COUNT"]
step, train_to_end = Trainer._step, Trainer.train_to_end

def train_and_tell(trainer):
    # What this rank has at the end, to the bit.
    train_to_end(trainer)
    known = {**dict(trainer.model.named_parameters()), **trainer.optimizer.state()}
    bits = b"".join(known[name].detach().numpy().tobytes() for name in sorted(known))
    (folder / f"known-{os.environ['RANK']}").write_text(f"{len(known)} {sha256(bits).hexdigest()}")

Trainer.train_to_end = train_and_tell

def die_in_the_sixth_step(trainer):
    # The checkpoint of step 4 is complete (all ranks waited for it), and rank 0 waits for us in this step.
    if trainer.progress.step == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(trainer)

if os.environ["RANK"] == "1" and life == "0":
    Trainer._step = die_in_the_sixth_step
train(recipe(folder, 1, kind), lambda _: None)
(folder / f"ended-{os.environ['RANK']}").write_text(life)
"""


@pytest.mark.parametrize("kind", ["adam", "muon"])
def test_a_killed_rank_costs_the_steps_since_the_last_checkpoint_and_nothing_else(tmp_path: Path, kind: str) -> None:
    """Two agents on this machine, as two machines with a shared folder have them; against one process, undisturbed."""
    script, alone, pair = tmp_path / "rank.py", tmp_path / "alone", tmp_path / "pair"
    script.write_text(RANK)
    train(recipe(alone, 2, kind), lambda _: None)
    recipe(pair, 1, kind)  # its corpus is there before the ranks look for it
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", "--max-restarts=3"]
    command += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--rdzv-id=test", str(script)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"  # docs/training.md says why
    # Into files: an agent whose errors nobody reads stops when the pipe is full.
    errors = [tmp_path / f"agent-{number}.txt" for number in range(2)]
    agents = []
    for path in errors:
        with path.open("w") as file:
            agents.append(subprocess.Popen([*command, str(pair), kind], cwd=root, env=environment, stderr=file))
    try:
        for agent in agents:
            agent.wait(timeout=900)
    finally:
        for agent in agents:
            agent.kill()
    told = "\n".join(path.read_text() for path in errors)
    assert [agent.returncode for agent in agents] == [0, 0], told
    assert int((pair / "ended-1").read_text()) >= 1, "rank 1 was not killed, or not begun again"
    first, second = ((pair / f"known-{rank}").read_text() for rank in (0, 1))
    assert first == second, "the ranks have learned different things"
    runs = [RunFolder(folder / "run") for folder in (alone, pair)]
    assert [run.steps()[-1] for run in runs] == [STEPS, STEPS]
    curves = [[entry["dev_loss"] for entry in run.read_log() if "dev_loss" in entry] for run in runs]
    assert len(curves[0]) == STEPS / 4
    assert curves[1] == pytest.approx(curves[0], abs=1e-5)
    one, other = (load_tensors(run.newest() / "model.safetensors") for run in runs)
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], atol=1e-5, rtol=0)
