"""A run folder: what a training run leaves on disk, and how it is found again.

recipe.json            what it was trained with, paths resolved
data.json              of the prepared data: gamma, the rules of normalisation; the corpora of what it started from
*subwords.model        copied from the prepared data
*.words.txt            lists of words, likewise
metrics.jsonl          one line each log interval and each validation
curves.png             the same, drawn
checkpoints/step-N/    model, optimiser, progress
best.json              {"checkpoint": "step-N", "score": ...}: the best validation so far
"""

from __future__ import annotations

import json
import re
import shutil
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from turia.config import Corpus, Recipe
from turia.corpus.batches import PoolStart
from turia.corpus.report import corpus_names
from turia.errors import ConfigError, ModelError
from turia.model.checkpoint import load_json
from turia.runtime.card import card_corpora
from turia.runtime.folder import AS_GIVEN, CARD_FILE, NEW_CARD_FILE
from turia.schema import from_dict, to_dict
from turia.system.files import remove_leftovers, write_file
from turia.system.locks import alone_in
from turia.text.known_words import take_words, word_files
from turia.text.normalise import NORMALISATION

_STEP = re.compile(r"step-([0-9]+)")


@dataclass
class TrainingProgress:
    """The counters from which a run is resumed exactly. All random numbers are drawn from them and from the seed, so
    there is no other state."""

    step: int = 0
    seconds: float = 0.0
    target_tokens: int = 0
    pool: PoolStart = field(default_factory=PoolStart)
    """Where the current pool begins."""
    batch: int = 0
    """Batches of the current pool already used."""
    pool_batch_tokens: int = 0
    pool_with_windows: bool = False
    validated_step: int = 0
    validated_seconds: float = 0.0
    best: float | None = None
    """Lowest dev loss so far."""
    measured: str = ""
    """How `best` was measured: after a change of that, it says nothing."""

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "pool": vars(self.pool)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TrainingProgress:
        return cls(**{**data, "pool": PoolStart(**data["pool"])})


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.metrics = path / "metrics.jsonl"

    def alone(self) -> AbstractContextManager[None]:
        """Makes the folder; nobody else trains in it meanwhile."""
        return alone_in(self.path, "turia train", "checkpoints stay")

    def begin(self, recipe: Recipe, gamma: float) -> None:
        """Notes what is trained; a run that is already there must have been trained with a recipe that fits."""
        before = self._learned_before(recipe)
        known = self.path / "recipe.json"
        models = {file.name: file.read_bytes() for file in recipe.data.folder.glob("*subwords.model")}
        if self.steps():
            self._check_same_model(self.recipe(), recipe)
            self._check_same_subwords(models)
        # Joint ones beside one for each side are of an earlier recipe, and whoever reads the folder would take them.
        for file in self.path.glob("*subwords.model"):
            if file.name not in models:
                file.unlink()
        write_file(known, json.dumps(to_dict(recipe), indent=1))
        data = {"gamma": gamma, "normalisation": self.normalisation(recipe), "learned_before": before}
        write_file(self.path / "data.json", json.dumps(data))
        for name, content in models.items():
            write_file(self.path / name, content)
        take_words(recipe.data.folder, self.path)

    def corpora(self) -> dict[str, str | None]:
        """All that the weights have learned from, by name, with the licence of each: here, and before."""
        recipe, noted = self.recipe(), self.path / "data.json"
        before = load_json(noted).get("learned_before") if noted.exists() else None
        if before is None:  # a run of an older release
            before = _corpora_of(recipe.training.start_from)
        learned = recipe.data.train
        terms = (_terms(corpus, recipe.source_language) for corpus in learned)
        return {**before, **dict(zip(corpus_names(learned), terms, strict=True))}

    def normalisation(self, recipe: Recipe | None = None) -> int:
        """The rules of the text that the run learns from; runs of releases that did not note it had the first ones."""
        noted = self.path / "data.json"
        if not self.steps() or not noted.exists():
            return AS_GIVEN if recipe is not None and recipe.data.source_text == "written" else NORMALISATION
        return int(load_json(noted).get("normalisation", 1))

    def _learned_before(self, recipe: Recipe) -> dict[str, str | None]:
        """What the weights have learned from before `recipe` is followed. What was learned once stays learned."""
        return self.corpora() if self.steps() else _corpora_of(recipe.training.start_from)

    def _check_same_model(self, before: Recipe, now: Recipe) -> None:
        # Where pieces are taken from may have moved; what they are is compared byte by byte.
        before, now = (replace(recipe, subwords=replace(recipe.subwords, reuse=None)) for recipe in (before, now))
        for part in ("model", "subwords", "source_language", "target_language"):
            if getattr(before, part) != getattr(now, part):
                raise ConfigError(
                    f"{self.path} was trained with another {part} ({_difference(part, before, now)}); choose another "
                    "run folder, or --fresh to start over"
                )

    def _check_same_subwords(self, models: dict[str, bytes]) -> None:
        """The same ids must mean the same pieces, or the weights mean nothing."""
        for name, content in models.items():
            mine = self.path / name
            if mine.exists() and mine.read_bytes() != content:
                raise ConfigError(
                    f"{self.path} was trained with another {name}: the data has been prepared anew since; "
                    f"choose another run folder, or --fresh to start over"
                )

    def remove(self) -> None:
        """Deletes what a run has written here; other files stay."""
        for folder in self.checkpoints.glob("step-*"):
            shutil.rmtree(folder)
        names = ("recipe.json", "data.json", "best.json", "metrics.jsonl", "curves.png")
        for file in (*(self.path / name for name in names), *self.path.glob("*subwords.model"), *word_files(self.path)):
            file.unlink(missing_ok=True)

    def recipe(self) -> Recipe:
        """What it was trained with. The rules for recipes may have changed since."""
        path = self.path / "recipe.json"
        try:
            return from_dict(Recipe, load_json(path))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error

    def checkpoint(self, step: int) -> Path:
        return self.checkpoints / f"step-{step:08d}"

    def steps(self) -> list[int]:
        """Steps of the complete checkpoints, oldest first."""
        if not self.checkpoints.is_dir():
            return []
        matches = (_STEP.fullmatch(folder.name) for folder in self.checkpoints.iterdir())
        return sorted(int(match[1]) for match in matches if match)

    def newest(self) -> Path:
        """The newest checkpoint; raises if there is none."""
        steps = self.steps()
        if not steps:
            raise ModelError(f"{self.path}: no checkpoint; expected a run folder that `turia train` has written")
        return self.checkpoint(steps[-1])

    def best(self) -> Path | None:
        """The checkpoint of the best validation, if there has been one and it is still there."""
        record = self.path / "best.json"
        if not record.exists():
            return None
        folder = self.checkpoints / str(load_json(record)["checkpoint"])
        return folder if folder.exists() else None

    def set_best(self, step: int, score: float) -> None:
        data = {"checkpoint": self.checkpoint(step).name, "score": score}
        write_file(self.path / "best.json", json.dumps(data))

    def note_best(self, step: int, score: float) -> None:
        """As `set_best`, unless what is noted is as good."""
        record = self.path / "best.json"
        if self.best() is None or float(load_json(record)["score"]) > score:
            self.set_best(step, score)

    def prune(self, keep: int) -> None:
        """Removes all but the newest `keep` checkpoints (the last one always stays) and the best one."""
        best = self.best()
        for step in self.steps()[: -max(1, keep)]:
            if self.checkpoint(step) != best:
                shutil.rmtree(self.checkpoint(step))
        remove_leftovers(self.checkpoints)

    def log(self, **values: Any) -> None:
        """One line of metrics."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")

    def rewind_log(self, step: int, validated: int) -> None:
        """Drops what was logged after `step`, and validations after the step `validated`: they are computed again."""
        if not self.metrics.exists():
            return
        entries = [(line, json.loads(line)) for line in self._logged()]
        kept = [line for line, of in entries if of["step"] <= (validated if "dev_loss" in of else step)]
        write_file(self.metrics, "".join(line + "\n" for line in kept))

    def read_log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._logged()] if self.metrics.exists() else []

    def _logged(self) -> list[str]:
        """The complete lines of the log. A process that was killed while writing leaves an incomplete one."""
        return [line for line in self.metrics.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def _terms(corpus: Corpus, source_language: str) -> str | None:
    """The licence of a corpus, as cards have it; with it that one side of the corpus is no real text."""
    if not corpus.synthetic:
        return corpus.licence
    return f"{corpus.licence or 'licence to be named'}; its {source_language} side is machine translation"


def _difference(part: str, before: Recipe, now: Recipe) -> str:
    """Which key of a part differs, as text for an error."""
    old, new = getattr(before, part), getattr(now, part)
    if not is_dataclass(old):
        return f"{part} = {old!r}, the recipe has {new!r}"
    key = next(item.name for item in fields(old) if getattr(old, item.name) != getattr(new, item.name))
    return f"{part}.{key} = {getattr(old, key)!r}, the recipe has {getattr(new, key)!r}"


def _corpora_of(start: Path | None) -> dict[str, str | None]:
    """What a run, or a model folder by its card, has learned from."""
    if start is None:
        return {}
    if (start / "recipe.json").exists():
        return RunFolder(start).corpora()
    # Where people had finished a card, a later export has told what is new beside it.
    cards = [start / name for name in (CARD_FILE, NEW_CARD_FILE) if (start / name).exists()]
    return {
        name: licence
        for card in cards
        for name, licence in card_corpora(card.read_text(encoding="utf-8", errors="replace")).items()
    }
