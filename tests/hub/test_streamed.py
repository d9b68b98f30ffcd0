"""A model of Marian's shape goes the way of other people's: saved, put on a hub, added, streamed with every policy."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
import torch

from benchmarks.policies import points, section
from tests.hub.local_hub import HubModel, LocalHub
from tests.training.export.test_to_marian import RECIPE, write_run
from turia.cli import main
from turia.config import SweepRecipe, load_recipe
from turia.model.checkpoint import save_checkpoint
from turia.policy.table import parse_policy
from turia.text.symbols import BRK_ID
from turia.training.run import RunFolder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STREAMED = ROOT / "recipes" / "policies-offline-dev-de-en.toml"
OTHER = """\
extends = "{recipe}"
folder = "sweep"
models = ["turia-offline-de-en"]
wait_k_models = []
k = [2, 12]
sentences = 2
timed_words = 0
resamples = 0
baseline = ""

[[test]]
name = "toy dev de-en"
corpus = {{ format = "plain", source = "source.de", target = "target.en" }}
"""


def test_a_model_from_a_hub_is_streamed_with_every_policy(hub: LocalHub, home: Path, tmp_path: Path) -> None:
    model = write_run(tmp_path / "run", RECIPE)
    assert model.logits_bias is not None
    with torch.no_grad():
        model.logits_bias[BRK_ID] -= 5  # random weights might end at once, and such a model is not added
    save_checkpoint(RunFolder(tmp_path / "run").checkpoint(1), model)
    assert main(["export", str(tmp_path / "run"), str(tmp_path / "hub" / "turia-offline-de-en"), "--marian"]) == 0
    hub.models["somebody/turia-offline-de-en"] = HubModel(tmp_path / "hub" / "turia-offline-de-en")
    assert main(["models", "add", "somebody/turia-offline-de-en"]) == 0
    assert (home / "turia-offline-de-en" / "config.json").is_file()
    (tmp_path / "source.de").write_text("Guten Tag !\nWie geht es Ihnen ?\n", encoding="utf-8")
    (tmp_path / "target.en").write_text("Good day !\nHow are you ?\n", encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(OTHER.format(recipe=STREAMED), encoding="utf-8")
    assert main(["sweep", str(tmp_path / "sweep.toml"), "--processes", "1"]) == 0
    results = json.loads((tmp_path / "sweep" / "results.json").read_text(encoding="utf-8"))
    run = {point.name for point in points(results)}
    assert run == {"wait-k", "hold-n", "local-agreement", "alignatt", "edatt", "adaptive", "whole"}
    recipe = load_recipe(SweepRecipe, STREAMED)
    table = section(results, STREAMED.stem, datetime.date(2026, 11, 17))
    assert all(f"| `{parse_policy(policy)}` |" in table for policy in recipe.policies)
