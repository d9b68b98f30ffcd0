"""How many target tokens a second `small` is trained with, and how much quicker that is than a naive loop.

The naive loop is what a first draft would be: attention by hand (scores and weights in full), padding projected to the
vocabulary too, and Adam as a loop over tensors. Both train the same model on the same batches in this one run; the best
of several rounds counts, because neighbours on a machine are noisy.

    python benchmarks/training.py [--threads 2] [--batch-tokens 4000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor

from turia.config import ModelSettings
from turia.model.transformer import Transformer
from turia.runtime.shape import shape_of
from turia.text.symbols import PAD_ID
from turia.training.loss import SummedLoss

VOCABULARY, PADDED = 8000, 0.9
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


def turia_step(model: Transformer) -> Callable[[Batch], None]:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    loss = SummedLoss(model, smoothing=0.1)

    def step(batch: Batch) -> None:
        optimizer.zero_grad(set_to_none=True)
        (loss(*batch) / int((batch[2][:, 1:] != PAD_ID).sum())).backward()
        optimizer.step()

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
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    shape = shape_of(ModelSettings(preset="small"), VOCABULARY, VOCABULARY, True)
    batches = make_batches(options.batch_tokens)
    labels = sum(int((batch[2][:, 1:] != PAD_ID).sum()) for batch in batches)
    steps = {"turia": turia_step(Transformer(shape)), "naive": naive_step(Transformer(shape))}
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(options.rounds):
        for name, step in steps.items():
            best[name] = min(best[name], seconds(step, batches))
    print(f"{platform.machine()}, {options.threads} threads, torch {torch.__version__}, best of {options.rounds}")
    for name, spent in best.items():
        print(f"{name:6} {labels / spent:8.0f} target tokens/s")
    print(f"ratio  {best['naive'] / best['turia']:8.2f}")


if __name__ == "__main__":
    main()
