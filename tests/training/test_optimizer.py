"""Which optimiser has which parameters, at which rate, and what of it a checkpoint keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.model.test_transformer import tiny
from turia.config import Training
from turia.errors import ConfigError, ModelError
from turia.model.checkpoint import save_checkpoint
from turia.training.distributed import Ranks
from turia.training.muon import matrices_of
from turia.training.optimizer import Optimizer, check_optimizer

ALONE = Ranks(0, 1, torch.device("cpu"))
ADAM, MUON = Training(steps=1), Training(optimizer="muon", steps=1)


def stepped(training: Training) -> Optimizer:
    """One that has something to remember."""
    model = tiny()
    optimizer = Optimizer(model, training, ALONE)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step(torch.amp.GradScaler("cpu", enabled=False))
    return optimizer


def test_adam_has_what_muon_has_not() -> None:
    model = tiny(positions="rotary")
    optimizer = Optimizer(model, Training(optimizer="muon", learning_rate=1e-3, muon_rate=0.02, steps=1), ALONE)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.set_rate(0.5)
    optimizer.step(torch.amp.GradScaler("cpu", enabled=False))
    matrices = matrices_of(model)
    for name, parameter in model.named_parameters():
        moved = (before[name] - parameter.detach()).double()
        if name in matrices:
            # All gradients alike: one direction, whose singular value is about 1, in each of the matrices.
            for begin, end in matrices[name]:
                norm = 0.5 * 0.02 * max(1.0, (end - begin) / parameter.shape[1]) ** 0.5
                assert float(moved[begin:end].norm()) == pytest.approx(norm, rel=0.35)
        else:
            # Adam's first step is its rate, whatever the gradient.
            torch.testing.assert_close(moved, torch.full_like(moved, 0.5 * 1e-3), rtol=1e-2, atol=1e-7)
    kinds = {key.rsplit(".", 1)[1] for key in optimizer.state() if key.rsplit(".", 1)[0] in matrices}
    assert kinds == {"momentum"}
    assert len(optimizer.state()) == len(matrices) + 3 * (len(before) - len(matrices))


def test_a_file_of_another_model_is_refused() -> None:
    optimizer = Optimizer(tiny(), Training(optimizer="muon", steps=1), ALONE)
    with pytest.raises(ModelError, match=r"step-7/optimizer.safetensors: does not have what the optimiser"):
        optimizer.load({"a.momentum": torch.zeros(1)}, Path("step-7"))


@pytest.mark.parametrize(("before", "now"), [(ADAM, MUON), (MUON, ADAM)])
def test_a_checkpoint_of_another_optimizer_is_told_by_its_file(tmp_path: Path, before: Training, now: Training) -> None:
    save_checkpoint(tmp_path / "step-1", tiny(), {"optimizer": stepped(before).state()})
    check_optimizer(before, tmp_path / "step-1")
    expected = rf"trained with training.optimizer = '{before.optimizer}', the recipe has '{now.optimizer}'; set it back"
    with pytest.raises(ConfigError, match=expected):
        check_optimizer(now, tmp_path / "step-1")


@pytest.mark.parametrize("training", [ADAM, MUON])
@pytest.mark.parametrize("which", ["matrix", "norm"])
def test_a_step_with_an_endless_gradient_is_skipped_by_all(training: Training, which: str) -> None:
    """With the scaled losses of float16. Clipping by an infinite norm leaves no number in any gradient."""
    model = tiny()
    optimizer = Optimizer(model, training, ALONE)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    endless = next(
        parameter for name, parameter in model.named_parameters() if (name in matrices_of(model)) is (which == "matrix")
    )

    def step(value: float) -> None:
        scaler.scale(torch.ones(()))
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        assert endless.grad is not None
        endless.grad.view(-1)[0] = value
        optimizer.unscale(scaler)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step(scaler)

    for value, scale in ((float("inf"), 2.0), (float("nan"), 1.0)):
        step(value)
        assert scaler.get_scale() == scale
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.detach(), before[name], atol=0, rtol=0)
    assert optimizer.state().keys() == stepped(training).state().keys(), "what was never used can be saved"
    assert not any(values.any() for values in optimizer.state().values())
    step(1.0)
    for name, parameter in model.named_parameters():
        assert parameter.isfinite().all()
        assert not torch.equal(parameter.detach(), before[name])


@pytest.mark.parametrize("training", [ADAM, MUON])
def test_what_is_remembered_comes_back(training: Training) -> None:
    saved = {name: tensor.clone() for name, tensor in stepped(training).state().items()}
    again = Optimizer(tiny(), training, ALONE)
    again.load(saved, Path("step-1"))
    assert again.state().keys() == saved.keys()
    for name, tensor in again.state().items():
        torch.testing.assert_close(tensor, saved[name], atol=0, rtol=0)
