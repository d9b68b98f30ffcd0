"""A language whose sentences end with one word is learned in seconds, and what was learned is what runs."""

from __future__ import annotations

import dataclasses
import json
import random
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.segmentation import evaluate, stream_of
from turia.cli import main
from turia.config import Corpus, SegmenterData, SegmenterModel, SegmenterRecipe, SegmenterTraining
from turia.errors import ConfigError, ModelError, ResourceError
from turia.segmenter.stream_classifier import load_classifier
from turia.system.locks import alone_in
from turia.training.segmenter.network import Network
from turia.training.segmenter.training import train

pytestmark = pytest.mark.slow


def write_corpus(path: Path, seed: int, sentences: int) -> list[str]:
    """Sentences of 2 to 8 words; only the last one is `stop` or is followed by `go`."""
    generator = random.Random(seed)
    lines = [
        " ".join(["go", *generator.choices("abcdef", k=generator.randint(1, 6)), "stop"]) for _ in range(sentences)
    ]
    path.write_text("".join(f"{number // 9}\t{line}\tx\n" for number, line in enumerate(lines)), encoding="utf-8")
    return lines


def write_corpora(folder: Path) -> None:
    """For tests that ask for no good model. Most of a short training is spent on its dev set, word by word."""
    write_corpus(folder / "train.tsv", 1, 60)
    write_corpus(folder / "dev.tsv", 2, 12)


def log_of(recipe: SegmenterRecipe) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (recipe.run / "log.jsonl").read_text().splitlines()]


Kind = Literal["ff-text", "rnn", "stream"]


def toy_recipe(folder: Path, network: Kind = "ff-text", samples: int = 6000) -> SegmenterRecipe:
    return SegmenterRecipe(
        language="de",
        run=folder / "run",
        data=SegmenterData((Corpus(path=folder / "train.tsv"),), (Corpus(path=folder / "dev.tsv"),)),
        model=SegmenterModel(network, windows=(0, 2), embedding=8, hidden=16, feed_forward=16, dropout=0.1),
        training=SegmenterTraining(epochs=2, samples_per_epoch=samples, batch=100, learning_rate=0.02, threads=1),
    )


@pytest.mark.parametrize("network", ["ff-text", "rnn", "stream"])
def test_a_simple_language_is_learned(tmp_path: Path, network: Kind) -> None:
    write_corpus(tmp_path / "train.tsv", 1, 400)
    lines = write_corpus(tmp_path / "dev.tsv", 2, 60)
    recipe = toy_recipe(tmp_path, network)
    shares: list[float] = []
    report = train(recipe, lambda share, detail: shares.append(share))
    assert set(report.f1) == ({0, 1, 2} if network == "stream" else {0, 2})
    assert min(report.f1.values()) > 0.99
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert [line["epoch"] for line in log_of(recipe)] == [1, 2]

    words, expected = stream_of(line.split() for line in lines)
    for window in (0, 2):
        classifier = load_classifier(report.folder, window)
        assert classifier.decision.threshold == pytest.approx(report.thresholds[window])
        assert evaluate(classifier.segmenter(), words, expected).f1 > 0.99


class KilledError(Exception):
    pass


@pytest.mark.parametrize("network", ["ff-text", "stream"])
def test_a_killed_run_ends_as_if_nothing_had_happened(tmp_path: Path, network: Kind) -> None:
    """Killed in the third epoch, gone on with: the same log and the same files as of one that was not."""
    write_corpora(tmp_path)
    batch = 100 if network == "stream" else 10  # 60 steps an epoch; rows have 100 words
    recipe = toy_recipe(tmp_path, network, samples=60 * batch)
    training = dataclasses.replace(recipe.training, epochs=3, batch=batch, learning_rate=0.002)
    recipe = dataclasses.replace(recipe, training=training, model=dataclasses.replace(recipe.model, windows=(1,)))
    whole = dataclasses.replace(recipe, run=tmp_path / "whole")
    train(whole)

    def kill(share: float, detail: str) -> None:
        if share > 2 / 3:
            raise KilledError

    with pytest.raises(KilledError):
        train(recipe, kill)
    assert len((recipe.run / "log.jsonl").read_text().splitlines()) == 2
    begun: list[str] = []
    train(recipe, lambda share, detail: begun.append(detail))
    assert begun[1].startswith("epoch 3 ")
    for name in ("log.jsonl", "best.safetensors", "export/segmenter.json", "export/segmenter.weights"):
        assert (recipe.run / name).read_bytes() == (whole.run / name).read_bytes(), name

    longer = dataclasses.replace(recipe, training=dataclasses.replace(training, epochs=4))
    train(longer)
    assert len((recipe.run / "log.jsonl").read_text().splitlines()) == 4


def test_dev_macro_f1_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best epoch is exported, and the rate is halved after each that is not better."""
    write_corpora(tmp_path)
    recipe = toy_recipe(tmp_path, samples=100)
    recipe = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, epochs=4, patience=0))
    values, weights = iter([0.2, 0.6, 0.4, 0.5]), []

    def scripted(network: Network, *others: object) -> dict[int, dict[str, float]]:
        weights.append({name: tensor.clone() for name, tensor in network.state_dict().items()})
        scores = {"macro_f1": next(values), "f1": 0.0, "next_threshold": 0.5}
        return {window: scores for window in network.windows}  # noqa: C420 (they are only read)

    monkeypatch.setattr("turia.training.segmenter.by_windows.dev_scores", scripted)
    train(recipe)
    best = load_file(recipe.run / "best.safetensors")
    assert [all(torch.equal(epoch[name], best[name]) for name in best) for epoch in weights] == [0, 1, 0, 0]
    rate = recipe.training.learning_rate
    assert [line["rate"] for line in log_of(recipe)] == [rate, rate, rate, rate / 2]


def test_settings_do_what_they_say(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    recipe = toy_recipe(tmp_path, samples=200)
    recipe = dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, windows=(1,)))

    def losses(name: str, **settings: object) -> tuple[list[float], float]:
        training = dataclasses.replace(recipe.training, **settings)  # type: ignore[arg-type]
        changed = dataclasses.replace(recipe, run=tmp_path / name, training=training)
        threshold = train(changed).thresholds[1]
        return [line["loss"] for line in log_of(changed)], threshold

    plain, threshold = losses("plain", own_past=0.0, hidden_future=0.0, decision="argmax")
    assert threshold == 0.5
    own, threshold = losses("own", own_past=0.5, hidden_future=0.0, decision="calibrated")
    assert threshold != 0.5
    assert own[0] == plain[0], "the first epoch has no past of its own"
    assert own[1] != plain[1]
    hidden, _ = losses("hidden", own_past=0.0, hidden_future=1.0, decision="argmax")
    assert hidden[0] != plain[0]


def test_a_run_goes_on_only_with_what_it_was_begun_with(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    recipe = toy_recipe(tmp_path, samples=200)
    train(recipe)
    other = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, batch=50))
    with pytest.raises(ConfigError, match="another training; choose another run folder, or --fresh"):
        train(other)
    write_corpus(tmp_path / "train.tsv", 3, 60)
    with pytest.raises(ConfigError, match="another data;"):
        train(recipe)
    train(other, fresh=True)
    assert len((recipe.run / "log.jsonl").read_text().splitlines()) == 2
    (recipe.run / "newest.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"newest.safetensors: cannot be read"):
        train(other)


RECIPE = """
language = "de"
run = "run"
[data]
train = [{ path = "train.tsv" }]
dev = [{ path = "dev.tsv" }]
[model]
windows = [0]
embedding = 8
hidden = 8
[training]
epochs = 1000000
samples_per_epoch = 1000
threads = 1
"""


def test_a_second_command_is_refused_until_the_first_is_dead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpora(tmp_path)
    recipe, run = tmp_path / "recipe.toml", tmp_path / "run"
    recipe.write_text(RECIPE, encoding="utf-8")
    command = [sys.executable, "-m", "turia", "segmenter", "train", str(recipe)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert first.stderr is not None
        assert "reading the corpora" in first.stderr.readline()
        assert main(["segmenter", "train", str(recipe), "--fresh"]) == 1
        message = f"error: {run}: another `turia segmenter train` is at work there; wait for it\n"
        assert capsys.readouterr().err == message
    finally:
        first.kill()
        first.communicate()
    with alone_in(run, "turia segmenter train", ""):
        pass


def test_a_full_disk_is_said_in_one_line(tmp_path: Path) -> None:
    """A limit on file size stands for the disk: writing past it fails as a full disk does."""
    write_corpora(tmp_path)
    recipe = toy_recipe(tmp_path, samples=200)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, limits[1]))
    try:
        with pytest.raises(ResourceError, match=r"run: no space left; free some and run again: finished epochs stay"):
            train(recipe)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_training_that_diverges_says_so(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    recipe = toy_recipe(tmp_path, samples=600)
    recipe = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, learning_rate=1e30))
    with pytest.raises(ConfigError, match=r"diverged: the loss of epoch 1 is .*; start over with a lower training"):
        train(recipe)
