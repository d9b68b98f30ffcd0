"""What a sweep runs, and what it refuses to begin."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiments.sweep.toys import corpus, model, recipe
from turia.config import SweepRecipe, load_recipe
from turia.errors import ConfigError, InputError, ModelError
from turia.experiments.sweep.configurations import Configuration
from turia.experiments.sweep.plan import configurations, plan
from turia.experiments.sweep.run import ready, sweep
from turia.policy.dial import DialPoint
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole
from turia.runtime.folder import load_folder, write_config, write_sums
from turia.runtime.heads import HeadList


def test_configurations_are_the_product_with_oracle_and_offline() -> None:
    found = configurations(recipe(Path("x"), k=(1, 4), windows=(0, 2), history=(0, 60), beam=(1,)), model())
    own = [(one.window, one.policy) for one in found if one.history == 60]
    one, four = WaitK(1), WaitK(4)
    assert own == [(0, one), (0, four), (2, one), (2, four), (None, one), (None, four), (None, Whole())]
    assert [one.history for one in found] == [0] * 7 + [60] * 7
    assert len({one.name() for one in found}) == 14
    assert found[0].name() == "w0-k1-h0"
    assert found[-1].name() == "oracle-offline-h60"


def test_without_history_or_beam_the_model_s_own_is_taken() -> None:
    (only,) = configurations(recipe(Path("x"), k=(), windows=()), model())
    assert only == Configuration(None, Whole(), 40, beam=3)


def test_a_model_without_segmenter_is_refused_before_any_work(tmp_path: Path) -> None:
    from turia.export.random_model import write_random_folder

    bare = tmp_path / "bare"
    bare.mkdir()
    write_random_folder(bare, "tiny", vocabulary=500)
    with pytest.raises(InputError, match=r"no segmenter of 0 future words .*or to \[\]"):
        plan(SweepRecipe(tmp_path / "out", (corpus(tmp_path),), models=("bare",)), tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("keys", "cause"),
    [
        ({"beam": (1, 65)}, "beam is 65, expected a whole number from 1 to 64"),
        ({"gamma": 11.0}, r"gamma is 11\.0, expected a number from 0\.1 to 10"),
        ({"history": (0, 2_000_000)}, "history is 2000000, expected a whole number"),
    ],
)
def test_what_no_stream_can_have_is_refused_before_any_work(
    model_folder: Path, tmp_path: Path, keys: dict[str, object], cause: str
) -> None:
    with pytest.raises(ConfigError, match=cause):
        plan(recipe(tmp_path / "out", models=(str(model_folder),), **keys), tmp_path)


def test_a_window_that_a_segmenter_lacks_is_refused_before_anything_is_translated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turia.experiments.sweep.plan.swept_model", lambda name, *_: replace(model(), windows=(0, 2)))
    with pytest.raises(InputError, match=r"no segmenter of 3 future words \(it has: 0, 2\)"):
        plan(recipe(tmp_path, k=(4,), windows=(2, 3)), tmp_path)


@pytest.mark.slow
def test_models_that_are_run_with_wait_k_only_need_no_heads(toml: Path, model_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(model_folder, tmp_path / "other")
    changed = 'windows = []\noffline = false\npolicies = ["hold-n:n=1"]\nwait_k_models = ["other"]'
    text = toml.read_text(encoding="utf-8").replace("windows = [0, 2]", changed)
    toml.write_text(text, encoding="utf-8")
    rows = sweep(toml, lambda share, what: None).rows
    assert [(row.system, row.k) for row in rows] == [
        ("tiny", 1),
        ("tiny", 3),
        ("tiny", None),
        ("other", 1),
        ("other", 3),
    ]


def test_a_bound_needs_no_heads(model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(model_folder, tmp_path / "bound")
    heads = {"bound": HeadList(""), model_folder.name: HeadList("", {"act-0.2": 130})}
    monkeypatch.setattr("turia.experiments.sweep.plan.head_list", lambda folder: heads[folder.path.name])
    chosen = SweepRecipe(
        tmp_path / "out", (corpus(tmp_path),), (str(model_folder),), ("bound",), k=(), policies=("act",), windows=()
    )
    planned = plan(chosen, tmp_path)
    assert [(run.model.name, str(run.configuration.policy)) for run in planned.runs] == [
        (model_folder.name, "act:lag_cost=0.2,epsilon=0.1"),
        (model_folder.name, "whole"),
        ("bound", "whole"),
    ]


def test_free_needs_a_model_that_was_trained_for_it(model_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the models was trained to work without a segmenter"):
        plan(replace(recipe(tmp_path / "out", models=(str(model_folder),), free=("attention",)), windows=()), tmp_path)


def test_a_reverse_model_has_the_opposite_direction(free_folder: Path, tmp_path: Path) -> None:
    keys = {"models": (str(free_folder),), "free": ("reverse",), "reverse_model": str(free_folder), "windows": ()}
    with pytest.raises(ModelError, match="the reverse model translates de-en, expected en-de"):
        plan(recipe(tmp_path / "out", **keys), tmp_path)


def test_a_dial_or_another_attention_does_not_make_a_sweep_begin_anew(model_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model_folder, tmp_path / "model")
    wanted = SweepRecipe(
        tmp_path / "out", (corpus(tmp_path),), models=("model",), k=(2,), policies=("alignatt:f=2",), windows=()
    )

    def described() -> dict[str, dict[str, object]]:
        return {run.configuration.name(): run.description() for run in plan(wanted, tmp_path).runs}

    before = described()
    config = load_folder(copy).config
    write_config(replace(config, dial=(DialPoint("wait-k:k=2", 2.0, 15.0),), attention_layer=0), copy)
    write_sums(copy)
    changed = {name for name, one in described().items() if one != before[name]}
    assert changed == {next(name for name in before if "alignatt" in name)}
    write_config(replace(config, gamma=2 * config.gamma), copy)
    write_sums(copy)
    assert all(one != before[name] for name, one in described().items())


def test_what_was_translated_when_all_of_the_folder_counted_is_still_done(model_folder: Path, tmp_path: Path) -> None:
    wanted = SweepRecipe(tmp_path / "out", (corpus(tmp_path),), models=(str(model_folder),), k=(2,), windows=())
    run = plan(wanted, tmp_path).runs[0]
    run.folder.mkdir(parents=True)
    for files, done in ((run.model.sha256, True), (run.model.translating_sha256, True), ("0" * 64, False)):
        text = json.dumps({**run.description(), "model_sha256": files})
        (run.folder / "configuration.json").write_text(text, encoding="utf-8")
        assert run.is_done() is done


RECIPES = {
    path.stem: path
    for path in sorted((Path(__file__).parents[3] / "recipes").glob("sweep-*.toml"))
    for made in [load_recipe(SweepRecipe, path)]
    if {*made.models, *made.bounds} <= {"de-en", "en-de"}
}
"""Those that need no model beside the package's."""


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.usefixtures("shared")
def test_sweeps_of_the_shipped_models_can_begin(name: str) -> None:
    """What they refuse, such as a baseline that is no curve, would be found out by whoever runs them."""
    made, planned = ready(RECIPES[name])
    assert {run.test.name for run in planned.runs} == {test.name for test in made.test}
