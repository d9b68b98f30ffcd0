"""What a sweep runs: its models, its test sets, and every configuration of each model on each test set."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from turia import __version__
from turia.config import SweepRecipe
from turia.engine.cutting import CUT_VERSION
from turia.engine.draft import DRAFTS_VERSION
from turia.engine.model import without_attention
from turia.engine.settings import Settings
from turia.engine.writer import SEARCH_VERSION
from turia.errors import InputError, ModelError
from turia.experiments.sweep.configurations import Configuration, policies
from turia.experiments.sweep.streams import SweptTest, write_streams
from turia.policy.base import CountingPolicy, LearnedPolicy, LookingPolicy, Policy, check_heads
from turia.policy.whole import Whole
from turia.runtime.folder import ModelConfig, ModelFolder, load_folder
from turia.runtime.glossary_file import read_glossary
from turia.runtime.heads import head_list
from turia.runtime.home import named_model
from turia.runtime.translator import check_reverse, find_model
from turia.segmenter.classifier import windows_in
from turia.segmenter.online import GIVEN_VERSION, Cut

COST_FILE = "cost.json"


@dataclass(frozen=True)
class SweptModel:
    """A model of a sweep."""

    name: str
    folder: Path
    history: int
    beam: int
    sha256: str
    """Of its SHA256SUMS, and so of all that it is."""
    source_language: str
    target_language: str
    windows: tuple[int, ...]
    """Future words that its segmenters look at."""
    free: bool = False
    """Whether it can work without a segmenter."""
    reverse: Path | None = None
    """The model that cuts its source then."""
    reverse_sha256: str = ""
    translating_sha256: str = ""
    """Of what translates: it stays the same when a policy, a dial or an attention layer is stored with the model."""
    attention: str = ""
    """The attention layer and head, for those configurations that look at it."""


@dataclass(frozen=True)
class Run:
    """One configuration of one model on one test set."""

    test: SweptTest
    model: SweptModel
    configuration: Configuration

    @property
    def folder(self) -> Path:
        return self.test.folder / self.model.name / self.configuration.name()

    def traces(self) -> list[Path]:
        return [self.folder / f"{source.stem}.jsonl" for source in self.test.sources]

    def description(self) -> dict[str, Any]:
        """What determines the traces."""
        return {
            "model": self.model.name,
            "model_sha256": self.model.translating_sha256,
            "test": self.test.name,
            "streams_sha256": self.test.sha256,
            "turia": __version__,
            "search": SEARCH_VERSION,
            **({"given": GIVEN_VERSION} if self.configuration.segments == "oracle" else {}),
            **({"cut": CUT_VERSION} if self.configuration.free else {}),
            **({"reverse_sha256": self.model.reverse_sha256} if self.configuration.free == "reverse" else {}),
            **({"attention": self.model.attention} if self.configuration.looks_at_attention else {}),
            **({"drafts": DRAFTS_VERSION} if self.configuration.searches_drafts else {}),
            **self.configuration.as_json(),
        }

    def cost(self) -> dict[str, float]:
        """What it took; nothing, if it was translated before that was noted."""
        try:
            found: dict[str, float] = json.loads((self.folder / COST_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    def is_done(self) -> bool:
        """Whether the very same has been translated before."""
        try:
            found = json.loads((self.folder / "configuration.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        described = self.description()
        # Until 0.2 everything in the folder counted. What was translated then is still good, if nothing has changed.
        before = {**described, "model_sha256": self.model.sha256}
        before.pop("attention", None)
        return bool(found in (described, before))


@dataclass(frozen=True)
class Plan:
    """A sweep, ready to be run: its models, its test sets and all pairs of them."""

    tests: tuple[SweptTest, ...]
    models: tuple[SweptModel, ...]
    bounds: tuple[SweptModel, ...]
    """Models that are run offline only."""
    runs: tuple[Run, ...]


def plan(recipe: SweepRecipe, base: Path) -> Plan:
    """Looks at the models, and writes the streams of the test sets. Folders of models are relative to `base`."""
    plain = replace(recipe, policies=()) if recipe.wait_k_models else recipe
    others = tuple(swept_model(name, base, plain) for name in recipe.wait_k_models)
    models = (*(swept_model(name, base, recipe) for name in recipe.models), *others)
    # They are run offline alone, and need not have what the policies look at.
    bare = replace(recipe, policies=(), offline=True)
    bounds = tuple(swept_model(name, base, bare) for name in recipe.bounds)
    languages = {(model.source_language, model.target_language) for model in models + bounds}
    if len(languages) > 1:
        pairs = ", ".join(sorted(f"{source}-{target}" for source, target in languages))
        raise InputError(f"the models of one sweep must be of one language pair, found {pairs}")
    for model in models:
        if missing := set(recipe.windows if policies(recipe) else ()) - set(model.windows):
            known = ", ".join(map(str, model.windows)) or "none"
            raise InputError(
                f"{model.folder}: the model has no segmenter of {min(missing)} future words (it has: {known}); "
                f"set windows in the recipe to what it has, or to []"
            )
    if recipe.free and not any(model.free for model in models):
        raise InputError(
            "free is set, but none of the models was trained to work without a segmenter; "
            "recipes/free-de-en.toml tunes one"
        )
    tests = tuple(write_streams(test, recipe, *languages.copy().pop()) for test in recipe.test)
    runs = tuple(
        Run(test, model, configuration)
        for test in tests
        for model in models + bounds
        for configuration in (
            _bound(recipe, model) if model in bounds else configurations(plain if model in others else recipe, model)
        )
    )
    return Plan(tests, models, bounds, runs)


def configurations(recipe: SweepRecipe, model: SweptModel) -> list[Configuration]:
    """All that a recipe asks of one model, in the order of its table; once, if `k` and `policies` both ask for it."""
    chosen = policies(recipe)
    cuts = recipe.free if model.free else ()
    thresholds = recipe.thresholds or (None,)
    segmentations: list[tuple[int | None, float | None, int | None, Cut | None, Policy]] = [
        *((window, at, None, None, policy) for window, at, policy in product(recipe.windows, thresholds, chosen)),
        *((None, None, block, None, policy) for block, policy in product(recipe.blocks, chosen)),
        *((None, None, None, cut, policy) for cut, policy in product(cuts, chosen)),
    ]
    if recipe.oracle:
        segmentations += [(None, None, None, None, policy) for policy in chosen]
    if recipe.offline:
        segmentations.append((None, None, None, None, Whole()))
    variants = product(
        recipe.history or (model.history,), recipe.encoding, recipe.recompute, recipe.beam or (model.beam,)
    )
    glossaries = (None,) if recipe.glossary is None else (None, read_glossary(recipe.glossary))
    found = (
        Configuration(
            window,
            policy,
            history,
            encoding,
            recompute,
            beam,
            recipe.gamma,
            block,
            recipe.max_lag if cut else _max_lag(recipe, policy),
            target,
            None if cut else glossary,
            cut,
            threshold,
        )
        for history, encoding, recompute, beam in variants
        for window, threshold, block, cut, policy in segmentations
        if not (cut and recompute)
        for target in (None, *(recipe.target_lag if policy.movable else ()))
        for glossary in glossaries
    )
    return list(dict.fromkeys(found))


def _max_lag(recipe: SweepRecipe, policy: Policy) -> int | None:
    """Policies that count know none where somebody ends sentences."""
    return None if isinstance(policy, CountingPolicy) else recipe.max_lag


def _bound(recipe: SweepRecipe, model: SweptModel) -> list[Configuration]:
    """What a model is run with that is a bound alone."""
    beams = recipe.beam or (model.beam,)
    return [Configuration(None, Whole(), model.history, beam=beam, gamma=recipe.gamma) for beam in beams]


def swept_model(name: str, base: Path, recipe: SweepRecipe) -> SweptModel:
    """The model of a packaged name, or of a folder, if it can be run as the recipe says."""
    folder = find_model(name if named_model(name) else base / Path(name).expanduser())
    checked = load_folder(folder)
    _check_settings(recipe, checked)
    config = checked.config
    reverse = _reverse_of(recipe, base, config) if config.free and recipe.reverse_model else None
    return SweptModel(
        Path(name).name,
        folder,
        config.history,
        config.beam,
        checked.sha256(),
        config.source_language,
        config.target_language,
        windows_in(folder, checked.listed),
        config.free,
        None if reverse is None else reverse.path,
        "" if reverse is None else reverse.sha256(),
        checked.translating_sha256(),
        f"{config.attention_layer}:{config.attention_head}",
    )


def _reverse_of(recipe: SweepRecipe, base: Path, config: ModelConfig) -> ModelFolder:
    name = recipe.reverse_model
    found = load_folder(find_model(name if named_model(name) else base / Path(name).expanduser()))
    check_reverse(found, config)
    return found


def _check_settings(recipe: SweepRecipe, model: ModelFolder) -> None:
    """Refuses what a stream would refuse, before a worker comes to it, which may be hours later."""
    own = model.config
    gamma = own.gamma if recipe.gamma is None else recipe.gamma
    for history, beam in product(recipe.history or (own.history,), recipe.beam or (own.beam,)):
        for policy in policies(recipe):
            Settings(policy=policy, gamma=gamma, history=history, beam=beam)
            for target in recipe.target_lag if policy.movable else ():
                Settings(policy=policy, target_lag=target)
            if isinstance(policy, LookingPolicy) and policy.attention and not model.can_look:
                raise ModelError(without_attention(str(model.path), policy.name))
            if recipe.free and own.free and isinstance(policy, Whole):
                raise InputError("policies has whole, which waits for sentence ends that nobody tells with free")
            if isinstance(policy, LearnedPolicy):
                check_heads(policy, head_list(model).values, str(model.path))
