"""How many target pieces a second `small` is trained with, and which share of a step Muon takes.

Ways of training, on the same batches in this one run:

- naive: what a first draft would be. Attention by hand (scores and weights in full), padding projected to the
  vocabulary too, Adam as a loop over tensors.
- adam: Turia's step with Adam.
- muon: with Muon for the matrices of the layers.
- muon, bfloat16: the same with `training.cpu_bfloat16`, where the CPU has instructions for it.
- memory kept: the last of these, after the process has been told to keep what it frees, as `turia train` does.

The best of several rounds counts, because neighbours on a machine are noisy. Muon's work does not grow with the batch,
so its share falls as batches grow.

    python benchmarks/training.py [--threads 2] [--batch-tokens 4000] [--rounds 5] [--positions rotary]
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from turia.config import ModelSettings, Training
from turia.model.transformer import Transformer
from turia.runtime.shape import shape_of
from turia.system.memory import keep_freed_memory
from turia.text.symbols import PAD_ID
from turia.training.distributed import Ranks
from turia.training.loss import SummedLoss
from turia.training.muon import Muon
from turia.training.optimizer import Optimizer
from turia.training.precision import half_type, multiplies_bfloat16

CPU = torch.device("cpu")
VOCABULARY, PADDED = 8000, 0.9
ADAM = Training(learning_rate=1e-4, steps=1)
MUON = replace(ADAM, optimizer="muon")
Batch = tuple[Tensor, Tensor, Tensor, Tensor]


def make_batches(tokens: int, lengths: tuple[int, ...] = (24, 40, 90)) -> list[Batch]:
    """Batches of like lengths, a tenth of it padding, with the causal limits of k = 4."""
    generator = torch.Generator().manual_seed(1)
    batches = []
    for length in lengths:
        rows = max(1, tokens // length)
        source = torch.randint(7, VOCABULARY, (rows, length), generator=generator)
        target = torch.randint(7, VOCABULARY, (rows, length + 1), generator=generator)
        target[:, int(length * PADDED) :] = PAD_ID
        reach = torch.arange(1, length + 1).expand(rows, length)
        batches.append((source, reach, target, (reach + 4).clamp(max=length)))
    return batches


def attention_by_hand(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor, dropout_p: float = 0.0) -> Tensor:
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5 + attn_mask
    return F.dropout(scores.softmax(dim=-1), dropout_p) @ value


class MuonClock:
    """The time that Muon's steps take."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begin = 0.0
        register_optimizer_step_pre_hook(self._before)
        register_optimizer_step_post_hook(self._after)

    def _before(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self._begin = time.perf_counter()

    def _after(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        if isinstance(optimizer, Muon):
            self.seconds += time.perf_counter() - self._begin


def turia_step(model: Transformer, training: Training) -> Callable[[Batch], None]:
    """One step as the training loop takes it."""
    half = half_type(CPU, training.cpu_bfloat16)
    optimizer = Optimizer(model, training, Ranks(0, 1, CPU), half or torch.float32)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    loss = SummedLoss(model, smoothing=0.1)

    def step(batch: Batch) -> None:
        optimizer.zero_grad()
        with nullcontext() if half is None else torch.autocast("cpu", dtype=half):
            total = loss(*batch)
        (total / int((batch[2][:, 1:] != PAD_ID).sum())).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step(scaler)

    return step


def naive_step(model: Transformer) -> Callable[[Batch], None]:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False, fused=False)

    def step(batch: Batch) -> None:
        source, reach, target, limit = batch
        optimizer.zero_grad(set_to_none=True)
        with mock.patch.object(F, "scaled_dot_product_attention", attention_by_hand):
            logits = model.logits(model(source, reach, target[:, :-1], limit))
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD_ID, label_smoothing=0.1)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def seconds(step: Callable[[Batch], None], batches: list[Batch]) -> float:
    begin = time.perf_counter()
    for batch in batches:
        step(batch)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batch-tokens", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--positions", choices=["sinusoidal", "rotary"], default="sinusoidal")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    settings = ModelSettings(preset="small", positions=options.positions)
    shape = shape_of(settings, VOCABULARY, VOCABULARY, True)
    batches = make_batches(options.batch_tokens)
    labels = sum(int((batch[2][:, 1:] != PAD_ID).sum()) for batch in batches)
    steps = {"naive": naive_step(Transformer(shape))}
    ways = {"adam": ADAM, "muon": MUON}
    if multiplies_bfloat16():
        ways["muon, bfloat16"] = replace(MUON, cpu_bfloat16=True)
    steps |= {name: turia_step(Transformer(shape), training) for name, training in ways.items()}
    clock = MuonClock()
    best: dict[str, tuple[float, float]] = {}

    def measure(name: str, step: Callable[[Batch], None]) -> None:
        clock.seconds = 0.0
        spent = seconds(step, batches)
        best[name] = min(best.get(name, (math.inf, 0.0)), (spent, clock.seconds))

    for _ in range(options.rounds):
        for name, step in steps.items():
            measure(name, step)
    if keep_freed_memory():
        for _ in range(options.rounds):
            measure("memory kept", step)
    print(
        f"{platform.machine()}, {options.threads} threads, torch {torch.__version__}, {options.positions} positions, "
        f"batches of {options.batch_tokens}, best of {options.rounds}"
    )
    for name, (spent, muon) in best.items():
        share = f", Muon {muon / spent:.0%} of a step" if muon else ""
        print(f"{name:15} {labels / spent:6.0f} target pieces/s, {best['naive'][0] / spent:.2f} x naive{share}")
    if "muon, bfloat16" not in best:
        print("this CPU has no instructions for bfloat16")


if __name__ == "__main__":
    main()
