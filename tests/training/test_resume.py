"""Killed at any moment and started again, a run ends with the weights of one that was never stopped."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from tests.training.toy import toy_recipe
from turia.config import Corpus, Recipe
from turia.corpus.prepare import prepare
from turia.errors import ConfigError, ModelError, ResourceError
from turia.model.checkpoint import load_json, load_tensors
from turia.training.data import open_data
from turia.training.distributed import Ranks
from turia.training.loop import Trainer, train
from turia.training.run import RunFolder

STEPS = 18
MUON = {
    "optimizer": "muon",
    "paths": "any",
    "any_share": 0.5,
    "skip_unlikely": 2.0,
    "last_sentence_weight": 2.5,
    "weight_decay": 0.01,
}


def short(folder: Path, kind: str = "adam") -> Recipe:
    """`kind`: the first release's way of learning, or Muon with rotary positions and random paths."""
    # Dropout on, batches growing, windows joining late: all that could depend on state does.
    recipe = toy_recipe(
        folder,
        steps=STEPS,
        warmup_steps=5,
        dropout=0.1,
        batch_tokens_start=400,
        batch_growth_steps=10,
        windows_from=0.4,
        accumulate=2,
        clip=1.0,
        save_steps=5,
        keep=3,
        **(MUON if kind == "muon" else {}),
    )
    return replace(
        recipe,
        model=replace(
            recipe.model, width=None, feed_forward=None, positions="rotary" if kind == "muon" else "sinusoidal"
        ),
        validation=replace(recipe.validation, steps=10, bleu_sentences=2, bleu_k=(4,)),
    )


def quick(folder: Path, steps: int) -> Recipe:
    """Where only the files matter: few steps, and the shortest look at the model."""
    recipe = short(folder)
    return replace(
        recipe,
        training=replace(recipe.training, steps=steps),
        validation=replace(recipe.validation, k=(4,), batches=1, bleu_sentences=0),
    )


def weights_at(run: Path, step: int) -> dict[str, torch.Tensor]:
    return load_tensors(RunFolder(run).checkpoint(step) / "model.safetensors")


def weights(run: Path) -> dict[str, torch.Tensor]:
    return weights_at(run, STEPS)


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], apart: float = 1e-6) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], atol=apart, rtol=0)


KILLED = """
import os, signal, sys
from tests.training.test_resume import short
from pathlib import Path
import turia.training.loop as loop
recipe, stop, moment = short(Path(sys.argv[1]), sys.argv[4]), int(sys.argv[2]), sys.argv[3]
loop.draw_curves = lambda log, path: None
if moment == "saving":
    # Die in the middle of writing a checkpoint: its folder exists, incomplete.
    write = Path.write_bytes
    def dying(path, content):
        if f"{stop:08d}" in str(path) and path.name.startswith("optimizer"):
            write(path, content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(path, content)
    Path.write_bytes = dying
elif moment == "validating":
    loop.validate = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
elif moment == "noting":
    # Die when what was found is logged, and not yet in the checkpoint.
    log = loop.RunFolder.log
    def dying_log(run, **values):
        log(run, **values)
        if "dev_loss" in values:
            os.kill(os.getpid(), signal.SIGKILL)
    loop.RunFolder.log = dying_log
else:
    step = loop.Trainer._step
    def dying_step(self):
        result = step(self)
        if self.progress.step == stop:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    loop.Trainer._step = dying_step
loop.train(recipe, print)
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A run of each kind that nothing stops."""
    return cache(lambda kind: train(short(tmp_path_factory.mktemp(kind), kind), lambda _: None))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "moment", "kind"),
    [
        (3, "stepping", "adam"),
        (13, "stepping", "adam"),
        (15, "saving", "adam"),
        (10, "validating", "adam"),
        (10, "noting", "adam"),
        (13, "stepping", "muon"),
    ],
)
def test_killed_and_resumed_ends_the_same(
    tmp_path: Path, undisturbed: Callable[[str], Path], stop: int, moment: str, kind: str
) -> None:
    recipe = short(tmp_path, kind)
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(stop), moment, kind]
    killed = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    saved = RunFolder(tmp_path / "run").steps()
    assert len(list(RunFolder(tmp_path / "run").checkpoints.glob("*.partial"))) == (moment == "saving")
    assert (saved[-1] if saved else 0) == 5 * ((stop - 1) // 5 if moment == "saving" else stop // 5)
    train(recipe, lambda _: None)
    assert not list(RunFolder(tmp_path / "run").checkpoints.glob("*.partial")), "what was left is removed"
    assert_same(weights(tmp_path / "run"), weights(undisturbed(kind)), apart=0)
    files = [RunFolder(run).newest() / "optimizer.safetensors" for run in (tmp_path / "run", undisturbed(kind))]
    assert_same(load_tensors(files[0]), load_tensors(files[1]), apart=0)
    steps = [entry["step"] for entry in RunFolder(tmp_path / "run").read_log()]
    assert steps == sorted(steps), "the log of the steps that were lost is dropped"
    looks = [
        [(entry["step"], entry["dev_loss"]) for entry in RunFolder(run).read_log() if "dev_loss" in entry]
        for run in (tmp_path / "run", undisturbed(kind))
    ]
    assert looks[0] == looks[1], "each step is validated as if nothing had been"


@pytest.mark.slow
def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path: Path) -> None:
    recipe = quick(tmp_path, steps=5)
    train(recipe, lambda _: None)
    before = weights_at(recipe.run, 5)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A real refusal: no file of this process may grow beyond what the weights need.
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    try:
        with pytest.raises(ResourceError, match=r"could not save.*File too large.*untouched"):
            train(quick(tmp_path, steps=STEPS), lambda _: None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    run = RunFolder(recipe.run)
    assert run.steps() == [5]
    assert not list(run.checkpoints.glob("*.partial"))
    assert_same(weights_at(recipe.run, 5), before)


def test_a_run_resumes_whatever_its_small_files_looked_like(tmp_path: Path) -> None:
    """Killed before its first checkpoint, while it wrote a line of its log; killed before it noted its best."""
    recipe = quick(tmp_path, steps=3)
    run = RunFolder(recipe.run)
    run.checkpoints.mkdir(parents=True)
    run.metrics.write_text('{"step": 4, "loss": 3.0}\n{"step": 5, "lo')
    train(recipe, lambda _: None)
    assert [entry["step"] for entry in run.read_log()] == [3, 3]
    (run.path / "best.json").unlink()
    train(recipe, lambda _: None)
    assert run.best() == run.checkpoint(3)


@pytest.mark.slow
def test_another_way_of_measuring_forgets_the_best(tmp_path: Path) -> None:
    recipe = quick(tmp_path, steps=6)
    train(recipe, lambda _: None)
    run = RunFolder(recipe.run)
    run.set_best(5, 0.0)  # as if another, easier measure had said so
    written = run.checkpoint(6) / "progress.json"
    unlooked = json.dumps({**json.loads(written.read_text()), "best": 0.0, "validated_step": 5})
    written.write_text(unlooked)
    train(recipe, lambda _: None)
    assert run.best() == run.checkpoint(5), "the same measure: nothing is better than 0"
    written.write_text(unlooked)
    train(replace(recipe, validation=replace(recipe.validation, k=(3,))), lambda _: None)
    assert run.best() == run.checkpoint(6)


@pytest.mark.slow
@pytest.mark.parametrize(("split", "key", "value"), [("dev", "recipe", "of another dev set"), ("train", "gamma", 1.5)])
def test_other_data_forgets_the_best(tmp_path: Path, split: str, key: str, value: object) -> None:
    recipe = quick(tmp_path, steps=6)
    train(recipe, lambda _: None)
    run = RunFolder(recipe.run)
    run.set_best(5, 0.0)  # as if an easier dev set had said so
    written = run.checkpoint(6) / "progress.json"
    written.write_text(json.dumps({**json.loads(written.read_text()), "best": 0.0, "validated_step": 5}))
    meta = recipe.data.folder / split / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), key: value}))
    train(recipe, lambda _: None)
    assert run.best() == run.checkpoint(6)


class BehindTheLeader(Ranks):
    """A process whose file system shows more than its leader's."""

    def from_leader(self, value: float) -> float:
        return 5.0


def test_all_go_on_from_the_checkpoint_that_the_leader_sees(tmp_path: Path) -> None:
    recipe = quick(tmp_path, steps=6)
    train(recipe, lambda _: None)
    assert {5, 6} <= set(RunFolder(recipe.run).steps())
    peer = BehindTheLeader(rank=1, world=1, device=torch.device("cpu"))
    trainer = Trainer(recipe, open_data(recipe), peer, lambda _: None, fresh=False)
    assert trainer.progress.step == 5
    assert_same(dict(trainer.model.state_dict()), weights_at(recipe.run, 5), apart=0)


def test_a_pool_that_has_become_smaller_is_left_for_the_next(tmp_path: Path) -> None:
    """Another seed or other data cuts a pool into fewer batches than have been taken of it."""
    recipe = quick(tmp_path, steps=3)
    train(recipe, lambda _: None)
    written = RunFolder(recipe.run).checkpoint(3) / "progress.json"
    written.write_text(json.dumps({**json.loads(written.read_text()), "batch": 1_000_000}))
    train(replace(quick(tmp_path, steps=4), seed=2), lambda _: None)
    after = json.loads((RunFolder(recipe.run).checkpoint(4) / "progress.json").read_text())
    assert (after["pool"]["pool"], after["batch"]) == (1, recipe.training.accumulate)


def test_windows_from_the_end_on_is_never(tmp_path: Path) -> None:
    recipe = quick(tmp_path, steps=1)  # its only pool begins at the last step
    for start, joined in ((1.0, False), (0.9, True)):
        train(replace(recipe, training=replace(recipe.training, windows_from=start)), lambda _: None, fresh=True)
        assert json.loads((RunFolder(recipe.run).newest() / "progress.json").read_text())["pool_with_windows"] is joined


def test_the_last_step_is_saved_again_without_a_moment_of_danger(tmp_path: Path) -> None:
    """Saved because it was due, then validated: the weights are not written twice, what was found is noted."""
    recipe = quick(tmp_path, steps=5)
    train(replace(recipe, training=replace(recipe.training, keep=1)), lambda _: None)
    run = RunFolder(recipe.run)
    assert run.steps() == [5]
    progress = json.loads((run.newest() / "progress.json").read_text())
    assert progress["validated_step"] == 5
    assert progress["best"] == json.loads((run.path / "best.json").read_text())["score"]


def test_a_run_that_diverges_says_so(tmp_path: Path) -> None:
    recipe = quick(tmp_path, steps=STEPS)
    wild = replace(recipe, training=replace(recipe.training, learning_rate=1e30, clip=0.0, warmup_steps=0))
    with pytest.raises(ConfigError, match=r"diverged: the loss of step \d+ is (nan|inf)"):
        train(wild, lambda _: None)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("part", "change", "complaint"),
    [
        (
            "model",
            {"width": 32},
            r"run was trained with another model \(model.width = None, the recipe has 32\); choose",
        ),
        (
            "model",
            {"positions": "rotary"},
            r"model.positions = 'sinusoidal', the recipe has 'rotary'\); choose another run",
        ),
        (
            "training",
            {"optimizer": "muon"},
            r"step-00000001 was trained with training.optimizer = 'adam', the recipe has 'muon'; set it back, or",
        ),
    ],
)
def test_another_model_or_optimizer_in_the_same_folder_is_refused_and_nothing_is_lost(
    tmp_path: Path, part: str, change: dict[str, object], complaint: str
) -> None:
    recipe = quick(tmp_path, steps=1)
    train(recipe, lambda _: None)
    before = contents(recipe.run)
    other = replace(recipe, **{part: replace(getattr(recipe, part), **change)})
    for _ in range(2):  # the first attempt must not make the second one pass
        with pytest.raises(ConfigError, match=complaint):
            train(replace(other, training=replace(other.training, steps=2)), lambda _: None)
    assert contents(recipe.run) == before
    train(quick(tmp_path, steps=2), lambda _: None)
    assert RunFolder(recipe.run).steps()[-1] == 2
    train(replace(other, training=replace(other.training, steps=1)), lambda _: None, fresh=True)
    with pytest.raises(ConfigError, match="was trained with"):  # and back again
        train(recipe, lambda _: None)


@pytest.mark.slow
def test_data_prepared_anew_with_other_subwords_is_refused(tmp_path: Path) -> None:
    once = quick(tmp_path, steps=1)
    train(once, lambda _: None)
    other = replace(once, subwords=replace(once.subwords, vocabulary=330))
    prepare(other, processes=1)
    with pytest.raises(ConfigError, match=r"another subwords"):
        train(other, lambda _: None)
    model = once.data.folder / "subwords.model"
    with pytest.raises(ConfigError, match=r"another subwords\.model: the data has been prepared anew"):
        train(once, lambda _: None)
    # --fresh takes them over, with the recipe that they are of.
    with pytest.raises(ConfigError, match=r"prepared from another recipe, .*; run `turia prepare`"):
        train(once, lambda _: None, fresh=True)
    train(other, lambda _: None, fresh=True)
    assert (once.run / "subwords.model").read_bytes() == model.read_bytes()


def test_data_of_another_recipe_is_refused_and_a_run_that_is_there_goes_on(tmp_path: Path) -> None:
    once = quick(tmp_path, steps=1)
    (corpus,) = once.data.train
    more = replace(once, data=replace(once.data, train=(replace(corpus, repeat=2),)))
    with pytest.raises(ConfigError, match=r"prepared from another recipe, .*; run `turia prepare`"):
        train(more, lambda _: None)
    assert not once.run.exists()
    train(once, lambda _: None)
    said: list[str] = []
    train(replace(more, training=replace(more.training, steps=2)), lambda news: said.append(str(news)))
    assert said[0] == f"{once.data.folder} is not what this recipe would prepare now; the run goes on with it as it is"
    assert RunFolder(once.run).steps()[-1] == 2
    # Where the corpora are not at hand, nobody can tell.
    gone = replace(more.data, train=(replace(corpus, source=tmp_path / "gone"),))
    away = replace(more, run=tmp_path / "away", data=gone)
    train(away, lambda _: None)
    assert RunFolder(away.run).steps() == [1]


def test_a_run_keeps_the_normalisation_of_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = quick(tmp_path, steps=1)
    train(recipe, lambda _: None)
    monkeypatch.setattr("turia.training.run.NORMALISATION", 7)
    train(replace(recipe, training=replace(recipe.training, steps=2)), lambda _: None)
    assert load_json(recipe.run / "data.json")["normalisation"] == 1
    # Releases that did not note it had the first rules.
    (recipe.run / "data.json").write_text('{"gamma": 1.0}')
    assert RunFolder(recipe.run).normalisation() == 1
    assert RunFolder(tmp_path / "new").normalisation() == 7


def test_a_recipe_that_never_sees_windows_is_validated_on_single_sentences(tmp_path: Path) -> None:
    recipe = quick(tmp_path, steps=1)
    assert recipe.windows.history > 0
    single = replace(recipe, run=tmp_path / "single", training=replace(recipe.training, windows_from=1.0))
    for one in (recipe, single):
        train(one, lambda _: None)
    with_windows, without = (RunFolder(one.run).read_log()[-1] for one in (recipe, single))
    assert any(name.startswith("dev_loss_last") for name in with_windows)
    assert not any(name.startswith("dev_loss_last") for name in without)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        (
            "model",
            {"max_positions": 60},
            r"model.max_positions is 60, but .* was prepared with 128; run `turia prepare`",
        ),
        ("windows", {"history": 4}, r"windows.history is 4, but .* was prepared with 8"),
        ("subwords", {"joint": False}, r"subwords.joint is False, but .* was prepared with True"),
        ("data", {"dev": ()}, r"data.dev is empty"),
        (
            "training",
            {"steps": None, "schedule": "fixed"},
            r"training has no end: set training.steps or training.hours",
        ),
        ("model", {"width": 30}, r"model.width is 30, expected .* the 4 heads can share"),
    ],
)
def test_a_recipe_that_cannot_be_trained_touches_nothing(
    tmp_path: Path, part: str, change: dict[str, object], message: str
) -> None:
    recipe = toy_recipe(tmp_path)
    kept = RunFolder(recipe.run).checkpoint(7)
    kept.mkdir(parents=True)
    wrong = replace(recipe, **{part: replace(getattr(recipe, part), **change)})
    with pytest.raises(ConfigError, match=message):
        train(wrong, lambda _: None, fresh=True)
    assert kept.exists(), "--fresh deletes only when training can begin"


@pytest.mark.slow
def test_fine_tuning_starts_from_another_run(tmp_path: Path) -> None:
    recipe = quick(tmp_path, steps=3)
    train(recipe, lambda _: None)
    tuned = replace(
        recipe,
        run=tmp_path / "tuned",
        training=replace(recipe.training, start_from=recipe.run, schedule="fixed", learning_rate=0.0, steps=1),
    )
    train(tuned, lambda _: None)
    assert_same(weights_at(tuned.run, 1), weights_at(recipe.run, 3))
    # Another corpus has other subwords, unless it takes over those of the run that it starts from.
    (tmp_path / "new.source").write_text("guri bado\nkeri\n" * 40)
    (tmp_path / "new.target").write_text("Bado guri.\nKeri.\n" * 40)
    corpus = Corpus(format="plain", source=tmp_path / "new.source", target=tmp_path / "new.target")
    data = replace(recipe.data, folder=tmp_path / "other", train=(corpus,))
    elsewhere = replace(tuned, run=tmp_path / "elsewhere", data=data)
    prepare(elsewhere, processes=1)
    with pytest.raises(ConfigError, match=r"other subwords; set subwords.reuse"):
        train(elsewhere, lambda _: None)
    elsewhere = replace(elsewhere, subwords=replace(recipe.subwords, reuse=recipe.run))
    prepare(elsewhere, processes=1)
    train(elsewhere, lambda _: None, fresh=True)
    assert_same(weights_at(elsewhere.run, 1), weights_at(recipe.run, 3))


def test_a_start_that_cannot_be_costs_no_checkpoint(tmp_path: Path) -> None:
    recipe = quick(tmp_path, steps=1)
    train(recipe, lambda _: None)
    kept = weights_at(recipe.run, 1)

    def fresh(start: Path) -> None:
        train(replace(recipe, training=replace(recipe.training, start_from=start)), lambda _: None, fresh=True)

    with pytest.raises(ModelError, match="nowhere: no checkpoint"):
        fresh(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="start_from is the run itself"):
        fresh(tmp_path / "data" / ".." / "run")
    shutil.copytree(recipe.run, tmp_path / "broken")
    (RunFolder(tmp_path / "broken").checkpoint(1) / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelError, match="cannot be read as safetensors"):
        fresh(tmp_path / "broken")
    assert_same(weights_at(recipe.run, 1), kept)


NEW_SINCE_0_1 = {
    "model": ["positions"],
    "subwords": ["split_digits"],
    "training": ["optimizer", "muon_rate", "muon_momentum", "paths", "any_share", "skip_unlikely", "cpu_bfloat16"],
}


@pytest.mark.slow
def test_a_run_of_release_0_1_goes_on(tmp_path: Path, undisturbed: Callable[[str], Path]) -> None:
    """Its files do not have the words of today, and its checkpoints are Adam's."""
    shutil.copytree(undisturbed("adam"), tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    for step in run.steps()[1:]:
        shutil.rmtree(run.checkpoint(step))
    noted = json.loads((run.path / "recipe.json").read_text())
    for part, keys in NEW_SINCE_0_1.items():
        for key in keys:
            del noted[part][key]
    (run.path / "recipe.json").write_text(json.dumps(noted))
    for folder in map(run.checkpoint, run.steps()):
        shape = json.loads((folder / "model.json").read_text())
        del shape["positions"]
        (folder / "model.json").write_text(json.dumps(shape))
    train(short(tmp_path), lambda _: None)
    assert_same(weights(run.path), weights(undisturbed("adam")), apart=0)


def test_checkpoints_are_pruned_but_for_the_best(undisturbed: Callable[[str], Path]) -> None:
    run = RunFolder(undisturbed("adam"))
    best = run.best()
    assert best is not None
    assert run.steps() == sorted({10, 15, 18, int(best.name.removeprefix("step-"))})
