"""A trained run as a model folder: which checkpoint, with which properties, and a card that says where it is from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from turia import __version__
from turia.config import OFFLINE_K, Recipe
from turia.engine.model import Attention
from turia.errors import InputError, ModelError
from turia.export.folder import write_folder
from turia.model.checkpoint import average_model, load_json, load_model
from turia.model.transformer import Transformer
from turia.policy.dial import DialPoint
from turia.runtime.folder import ModelConfig
from turia.runtime.shape import Precision
from turia.segmenter.classifier import SETTINGS_FILE, SegmenterSettings
from turia.segmenter.stream_classifier import load_classifier
from turia.text.known_words import given_word_files, word_files
from turia.training.run import RunFolder


def export_run(
    run: Path,
    folder: Path,
    precision: Precision = "int8",
    average: int | None = None,
    segmenter: Path | None = None,
    history: int | None = None,
    beam: int = 1,
    attention: Attention | None = None,
    policy: str | None = None,
    dial: tuple[DialPoint, ...] = (),
    words: Path | None = None,
) -> ModelConfig:
    """Writes `folder` from the run's best checkpoint (or the newest, if none is marked), or the mean of the newest.

    `history` and `beam` are what streams use unless told otherwise; without the first, what it was trained with.
    So is `policy`; `dial` are its measured points, and `attention` is what policies look at. `words` is a folder with
    lists of words, in place of the run's own.
    """
    trained = RunFolder(run)
    if not (run / "recipe.json").is_file():
        raise ModelError(f"{run}: no recipe.json; expected a run folder that `turia train` has written")
    recipe = trained.recipe()
    checkpoints = _checkpoints(trained, average)
    model = average_model(checkpoints) if len(checkpoints) > 1 else load_model(checkpoints[0])
    data = load_json(run / "data.json")
    looked_at = attention or Attention()
    config = ModelConfig(
        recipe.source_language,
        recipe.target_language,
        model.shape,
        precision,
        gamma=float(data["gamma"]),
        history=_trained_history(recipe) if history is None else history,
        trained_k=recipe.training.k_range,
        normalisation=trained.normalisation(),
        beam=beam,
        attention_layer=looked_at.layer,
        attention_head=looked_at.head,
        policy=policy,
        dial=dial,
        free=recipe.training.free_share > 0,
    )
    # A mean of checkpoints has not been validated.
    scores = _scores(trained, checkpoints[0]) if len(checkpoints) == 1 else []
    card = _card(config, recipe, trained.corpora(), [checkpoint.name for checkpoint in checkpoints], scores)
    lists = word_files(run) if words is None else given_word_files(words)
    write_folder(folder, config, _weights(model), card, run, [*_segmenter_files(config, segmenter), *lists])
    return config


def _checkpoints(run: RunFolder, average: int | None) -> list[Path]:
    if average is None:
        return [run.best() or run.newest()]
    steps = run.steps()
    if len(steps) < average:
        raise InputError(f"{run.path}: --average {average}, but there are {len(steps)} checkpoints")
    return [run.checkpoint(step) for step in steps[-average:]]


def _weights(model: Transformer) -> dict[str, Any]:
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def _segmenter_files(config: ModelConfig, folder: Path | None) -> list[Path]:
    """The files of an exported segmenter, which must be one for the source language, and load."""
    if folder is None:
        return []
    try:
        settings = SegmenterSettings.load(folder)
    except OSError as error:
        raise ModelError(f"{folder / SETTINGS_FILE}: cannot be read: {error.strerror}") from error
    if settings.language != config.source_language:
        raise ModelError(
            f"{folder}: a segmenter of {settings.language!r}, but the model reads {config.source_language!r}"
        )
    if not settings.decisions:
        raise ModelError(f"{folder / SETTINGS_FILE}: a segmenter of no windows; train it again")
    for window in settings.decisions:
        load_classifier(folder, window)
    return sorted({folder / name for window in settings.decisions for name in settings.files(window)})


def _scores(run: RunFolder, checkpoint: Path) -> list[str]:
    """The last validation of a checkpoint, as training logged it."""
    step = int(checkpoint.name.removeprefix("step-"))
    validations = [line for line in run.read_log() if line["step"] == step and "dev_loss" in line]
    if not validations:
        return []
    figures = validations[-1].items()
    return [f"{name} {value:.2f}" for name, value in figures if name == "dev_loss" or name.startswith("bleu")]


def _trained_history(recipe: Recipe) -> int:
    """Words of history in its windows; none, where windows never joined."""
    return recipe.windows.history if recipe.training.windows_from < 1 else 0


def _samples(recipe: Recipe) -> str:
    history = _trained_history(recipe)
    return f"windows of {history}" if history else "single sentences"


def _trained_k(config: ModelConfig) -> str:
    """The k that it knows. Masks that are anchored at the window count its pieces, not words of a sentence."""
    in_pieces = config.shape.anchor == "window"
    if config.trained_k is None:
        return f"k from 1 to the length of a {'window in pieces' if in_pieces else 'sentence'}"
    low, high = config.trained_k
    if low >= OFFLINE_K and not in_pieces:
        return "whole sentences alone, no prefixes of them"
    return f"k from {low} to {high}{' pieces of a window' if in_pieces else ''}"


def _card(
    config: ModelConfig, recipe: Recipe, corpora: dict[str, str | None], checkpoints: list[str], scores: list[str]
) -> str:
    """README.md: front matter that `turia models` reads, and sections for people to fill."""
    licences = {name: licence or "licence to be named" for name, licence in corpora.items()}
    shape = config.shape
    lines = [
        "---",
        "languages:",
        f"- {config.source_language}",
        f"- {config.target_language}",
        "data:",
        *(f"- {name}" for name in licences),
        "scores:",
        *(f"- {score} (dev set, while training, float32)" for score in scores),
        "---",
        "",
        f"# {config.source_language} → {config.target_language}",
        "",
        "A model for streaming translation with Turia.",
        "",
        f"- Transformer {shape.width}/{shape.feed_forward}, {shape.heads} heads, {shape.encoder_layers} encoder and "
        f"{shape.decoder_layers} decoder layers, {shape.target_vocabulary} target pieces; {config.precision}",
        f"- encoder {shape.encoder}, masks anchored at the {shape.anchor}, trained for {_trained_k(config)}",
        f"- history {config.history} words (trained with {_samples(recipe)}), catch-up {config.gamma} target words "
        "to a source word",
        *(["- works without a segmenter too: `--segmentation free`"] if config.free else []),
        f"- search: {'greedy' if config.beam == 1 else f'a beam of {config.beam}'}",
        f"- weights of {', '.join(checkpoints)}; exported by Turia {__version__}",
        "",
        "## Data and licences",
        "",
        *(f"- {name}: {licence}" for name, licence in licences.items()),
        "",
        "## Limits",
        "",
        "Made to be read while somebody speaks. Nobody has checked its translations: do not use it where a wrong word",
        "does harm.",
        "",
    ]
    return "\n".join(lines)
