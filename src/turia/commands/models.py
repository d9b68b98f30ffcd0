"""`turia models list`: describes models from their config.json and the front matter of their cards.

The keys `data` and `scores` of a card are shown. Its author says there what the model was trained on, and how good it
is with which settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from turia.errors import ModelError
from turia.runtime.card import front_matter, shown_card
from turia.runtime.folder import ORIGIN_FILE, load_folder
from turia.runtime.heads import head_list
from turia.runtime.home import added_models, packaged_models
from turia.runtime.translator import find_model
from turia.runtime.weights import weight_shapes
from turia.segmenter.classifier import windows_in
from turia.system.files import read_json


@dataclass(frozen=True)
class Installed:
    """A model, described for people who choose one."""

    name: str
    source_language: str
    target_language: str
    parameters: int
    megabytes: float
    """On disk."""
    precision: str
    encoder: str
    history: int
    gamma: float
    beam: int
    windows: tuple[int, ...]
    """Future words that its segmenters look at."""
    data: tuple[str, ...]
    scores: tuple[str, ...]
    heads: tuple[str, ...] = ()
    """Through which learned policies look at it."""
    licence: str | None = None
    """As its card says."""
    policy: str | None = None
    """That streams have unless told otherwise; None is wait-k."""
    origin: dict[str, Any] | None = None
    """Where it was fetched from, if it was added."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def installed(models: Sequence[str] = ()) -> list[Installed]:
    """The models of these names and folders; without any, all that are installed."""
    return [describe(name, find_model(name)) for name in models or [*packaged_models(), *added_models()]]


def describe(name: str, folder: Path) -> Installed:
    """A model folder that has passed its checks, described."""
    checked = load_folder(folder)
    config = checked.config
    card = front_matter(shown_card(folder))
    return Installed(
        name,
        config.source_language,
        config.target_language,
        sum(prod(shape) for shape in weight_shapes(config.shape).values()),
        round(sum(file.stat().st_size for file in folder.iterdir() if file.is_file()) / 1e6, 1),
        config.precision,
        config.shape.encoder,
        config.history,
        config.gamma,
        config.beam,
        windows_in(folder, checked.listed),
        card.get("data", ()),
        card.get("scores", ()),
        tuple(head_list(checked).values),
        next(iter(card.get("license", ())), None),
        config.policy,
        read_json(folder / ORIGIN_FILE, "an added model", ModelError) if ORIGIN_FILE in checked.listed else None,
    )


def table(models: Sequence[Installed]) -> Table:
    """The models for a terminal, a row each; what a card says is in `card_lines`."""
    drawn = Table(box=box.SIMPLE_HEAD)
    for column in ("model", "pair", "parameters", "MB", "licence", "history", "beam", "windows"):
        drawn.add_column(column, overflow="fold")
    for model in models:
        drawn.add_row(
            Path(model.name).name,
            f"{model.source_language} → {model.target_language}",
            f"{model.parameters / 1e6:.1f}M, {model.precision}",
            f"{model.megabytes:.0f}",
            model.licence or "see its card",
            str(model.history),
            str(model.beam),
            ", ".join(map(str, model.windows)) or "none",
        )
    return drawn


def card_lines(model: Installed) -> list[str]:
    """What its card says of a model's data and scores, and which heads it has."""
    name = Path(model.name).name
    if model.origin is not None:
        at = f" at revision {model.origin['revision']}" if model.origin.get("revision") else ""
        return [f"{name} from: {model.origin.get('id')}{at}"]
    lines = [f"{name} data: {', '.join(model.data) or 'not said'}"]
    lines += [f"{name} score: {score}" for score in model.scores or ("not said",)]
    return lines + ([f"{name} heads: {', '.join(model.heads)}"] if model.heads else [])
