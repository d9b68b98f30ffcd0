"""The numbers that a run multiplies in, and that 16 bits learn what 32 bits learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.training.test_resume import assert_same, short, weights_at
from turia.config import Recipe
from turia.model.checkpoint import load_tensors
from turia.training.loop import train
from turia.training.precision import half_type, multiplies_bfloat16
from turia.training.run import RunFolder

CPU, GPU = torch.device("cpu"), torch.device("cuda")
STEPS = 6
needs_bfloat16 = pytest.mark.skipif(not multiplies_bfloat16(), reason="this CPU does not multiply bfloat16")


def muon(folder: Path, steps: int = STEPS, cpu_bfloat16: bool = True) -> Recipe:
    """Muon, rotary positions, random paths; without dropout, whose draws differ between types."""
    recipe = short(folder, "muon")
    training = replace(recipe.training, steps=steps, cpu_bfloat16=cpu_bfloat16, dropout=0.0, windows_from=0.0)
    # A rate that does not depend on the planned end, so that a run can be cut into two.
    training = replace(training, schedule="fixed")
    return replace(
        recipe, training=training, validation=replace(recipe.validation, steps=STEPS, batches=2, bleu_sentences=0)
    )


def last_losses(run: Path) -> tuple[float, float]:
    """Of the last log entries: the training loss and the dev loss."""
    log = RunFolder(run).read_log()
    return [entry["loss"] for entry in log if "loss" in entry][-1], log[-1]["dev_loss"]


@pytest.mark.parametrize(
    ("asked", "has_it", "expected"), [(False, True, None), (True, False, None), (True, True, torch.bfloat16)]
)
def test_a_cpu_must_be_asked_and_must_have_it(
    monkeypatch: pytest.MonkeyPatch, asked: bool, has_it: bool, expected: torch.dtype | None
) -> None:
    monkeypatch.setattr("turia.training.precision.multiplies_bfloat16", lambda: has_it)
    assert half_type(CPU, asked) == expected


@pytest.mark.parametrize(("has_it", "expected"), [(True, torch.bfloat16), (False, torch.float16)])
def test_a_gpu_takes_bfloat16_if_it_has_it(
    monkeypatch: pytest.MonkeyPatch, has_it: bool, expected: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_it)
    assert half_type(GPU, False) == half_type(GPU, True) == expected


@pytest.mark.slow
@needs_bfloat16
def test_bfloat16_learns_what_float32_learns(tmp_path: Path) -> None:
    losses = []
    for asked in (True, False):
        said: list[str] = []
        recipe = muon(tmp_path / str(asked), cpu_bfloat16=asked)
        train(recipe, lambda news, said=said: said.append(str(news)))  # type: ignore[misc]
        assert not any("cpu_bfloat16" in line for line in said)
        losses.append(last_losses(recipe.run))
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
    assert losses[0] != losses[1]
    # What is kept is float32 all the same.
    newest = RunFolder(tmp_path / "True" / "run").newest()
    for file in ("model.safetensors", "optimizer.safetensors"):
        assert {tensor.dtype for tensor in load_tensors(newest / file).values()} == {torch.float32}


@pytest.mark.slow
@needs_bfloat16
def test_bfloat16_resumes_exactly(tmp_path: Path) -> None:
    whole, parts = muon(tmp_path / "whole"), muon(tmp_path / "parts", steps=STEPS // 2)
    train(whole, lambda _: None)
    train(parts, lambda _: None)
    train(replace(parts, training=replace(parts.training, steps=STEPS)), lambda _: None)
    assert_same(weights_at(parts.run, STEPS), weights_at(whole.run, STEPS), apart=0)


@pytest.mark.slow
def test_a_cpu_without_it_says_so_and_trains_in_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turia.training.precision.multiplies_bfloat16", lambda: False)
    plain, asking = muon(tmp_path / "plain", steps=3, cpu_bfloat16=False), muon(tmp_path / "asking", steps=3)
    said: list[str] = []
    train(plain, lambda _: None)
    train(asking, lambda news: said.append(str(news)))
    lines = [line for line in said if "bfloat16" in line]
    assert lines == ["training.cpu_bfloat16: this CPU has no instructions for bfloat16, so it trains in float32"]
    assert_same(weights_at(asking.run, 3), weights_at(plain.run, 3), apart=0)
