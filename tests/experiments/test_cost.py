"""What a policy costs: calls are counted where a stream asks for them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.engine.fakes import Echo, fake_model
from turia.cli import main
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import InputError
from turia.experiments.cost import Cost, sample, time_alone
from turia.policy.base import Policy
from turia.policy.holdn import HoldN
from turia.policy.localagreement import LocalAgreement
from turia.policy.waitk import WaitK
from turia.segmenter.online import GivenSegmenter

SPEECH = ["ka", "leta", "miso", "no", "punde", "rata", "leso", "minde", "nota", "ka"] * 6


def cost(policy: Policy, beam: int) -> tuple[Cost, Echo]:
    backend = Echo()
    stream = Stream(fake_model(backend), GivenSegmenter([20, 20, 20, 1]), Settings(policy=policy, beam=beam, history=0))
    return time_alone(stream, backend, SPEECH), backend


def test_every_call_is_counted_once() -> None:
    found, backend = cost(WaitK(3), 3)
    assert found.words == 60
    assert found.calls == len(backend.batches)
    assert found.requests == sum(backend.batches)
    assert found.calls_per_word == found.calls / 60
    assert found.seconds is not None


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("policy", [HoldN(2), HoldN(4), LocalAgreement(2)], ids=str)
def test_a_policy_that_looks_asks_the_model_at_most_twice_as_often_as_wait_k(policy: Policy, beam: int) -> None:
    """Drafts that stay are verified, not decoded again; with a beam too."""
    base, _ = cost(WaitK(3), beam)
    looking, _ = cost(policy, beam)
    assert looking.calls <= 2 * base.calls
    assert looking.requests <= 2 * base.requests


def test_bench_prints_what_policies_cost(model_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--quick", "--policy", "hold-n:n=2", "--beam", "1", "--beam", "2", "--json"]
    assert main(["bench", str(model_folder), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["policies"]
    assert found["kernels"].startswith(("native", "ONNX Runtime"))
    assert [(row["policy"].partition(":")[0], row["beam"]) for row in rows] == [
        ("wait-k", 1), ("hold-n", 1), ("wait-k", 2), ("hold-n", 2),
    ]  # fmt: skip
    assert all(row["calls_per_word"] > 0 and row["words_per_second"] > 0 for row in rows)
    assert rows[0]["to_wait_k"] == rows[2]["to_wait_k"] == 1


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["--policy", "hold-n"], "--policy needs a MODEL"),
        (["--beam", "4"], "--beam is for --policy"),
        (["de-en", "--policy", "hold-m"], "no policy 'hold-m'; did you mean 'hold-n'?"),
        (["de-en", "--policy", "hold-n", "--contest"], "--contest has no effect with --policy"),
        (["de-en", "--policy", "hold-n", "--k", "6"], "--k has no effect with --policy"),
        (["de-en", "--contest", "--history", "60"], "--history has no effect with --contest"),
        (["de-en", "--contest", "--own-growth"], "--own-growth has no effect with --contest"),
    ],
)
def test_what_cannot_be_measured(arguments: list[str], cause: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert cause in capsys.readouterr().err


def test_a_policy_without_its_head_is_refused_before_anything_is_measured(
    model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", str(model_folder), "--quick", "--policy", "act"]) == 2
    assert re.fullmatch(r"error: .* needs the head act-0\.2, the model has none; .*\n", capsys.readouterr().err)


def test_a_language_without_a_sample_speech() -> None:
    assert len(sample("de-AT")) > 100
    with pytest.raises(InputError, match="no sample speech in 'fi'"):
        sample("fi")
