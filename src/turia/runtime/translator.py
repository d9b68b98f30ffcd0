"""Loads a model and begins streams: the entry point of the public API."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from turia.engine.audience import Audience, common_block
from turia.engine.model import Attention, Model
from turia.engine.names import SpokenNames
from turia.engine.settings import LEAST_POSITIONS, Encoding, Settings
from turia.engine.stream import Stream
from turia.errors import InputError, ModelError
from turia.policy.base import Policy, row_sureness
from turia.policy.dial import default_policy, unmeasured_dial
from turia.policy.table import parse_latency, parse_policy
from turia.policy.waitk import Rounding
from turia.runtime.folder import (
    AS_GIVEN,
    SHORT_SUM,
    SUMS_FILE,
    ModelConfig,
    ModelFolder,
    check_sums,
    load_folder,
    read_sums,
)
from turia.runtime.glossary_file import GlossaryFile, read_glossary
from turia.runtime.graphs import Runtime
from turia.runtime.heads import load_heads, perceptron_sum
from turia.runtime.home import added_models, named_model, packaged_models
from turia.runtime.kernels import Kernels, choose_of, open_runtime
from turia.runtime.native import NativeRuntime
from turia.schema import Natural, checked
from turia.segmenter.classifier import SETTINGS_FILE, SegmenterSettings
from turia.segmenter.online import MAX_WORDS, Cut, FreeSegmenter, Reason, Segmenter
from turia.segmenter.punctuation import PunctuationSegmenter
from turia.segmenter.stream_classifier import AnyClassifier, load_classifier
from turia.system.onnx import CPU
from turia.text.glossary import Glossary
from turia.text.known_words import FILES as WORD_FILES
from turia.text.known_words import read_words

Segmentation = Literal["model", "punctuation", "free"]
"""Where sentence ends come from."""
_SEGMENTATION_OF: dict[Reason, Segmentation] = {Reason.PUNCTUATION: "punctuation", Reason.FREE: "free"}


def find_model(model: str | Path) -> Path:
    """The folder of an installed model by its name, or the folder itself."""
    if (named := named_model(str(model))) is not None:
        return named
    # To Python, an empty path is the folder that one is in.
    if str(model) and Path(model).is_dir():
        return Path(model)
    known = ", ".join([*packaged_models(), *added_models()]) or "none"
    raise ModelError(f"no model {str(model)!r}: it is no folder, and the installed models are: {known}")


@dataclass(frozen=True)
class _Given:
    """Types and ranges of what `load` and `stream` take beside the settings of the engine."""

    streams: Natural
    window: Natural
    segmentation: Segmentation | None
    cut: Cut | None


class Translator:
    """Begins streams of one model. Streams share its weights and are otherwise independent.

    One thread at a time may use a translator and its streams: they share a runtime, which nothing locks.
    """

    def __init__(self, folder: ModelFolder, model: Model) -> None:
        self.folder, self.config, self.model = folder.path, folder.config, model
        self._listed = folder.listed
        self.glossary_file: GlossaryFile | None = None
        """What a server follows for its sessions."""
        self._classifiers: dict[int, AnyClassifier] = {}

    @classmethod
    def load(
        cls,
        model: str | Path = "de-en",
        *,
        threads: int = 1,
        providers: Sequence[str] = CPU,
        streams: int = 1,
        history: int | None = None,
        beam: int | None = None,
        policy: str | None = None,
        reverse_model: str | Path | None = None,
        kernels: Kernels | None = None,
    ) -> Translator:
        """The model of a name (`turia models` lists them) or a folder, checked before use.

        Up to `streams` streams can be run together without delay; the first batch of more waits for its graph.
        `history`, `beam` and `policy` are what new streams have unless told otherwise, in place of the model's own.
        `reverse_model`, of the opposite direction, is for streams without a segmenter (docs/segmenter.md).
        `kernels` is the code that computes: "native" (the package turia-kernels), "onnx", or "auto", native where it
        fits; by default what the variable TURIA_KERNELS says, or "auto".
        """
        checked(_Given, {"streams": streams})
        folder = load_folder(find_model(model))
        if folder.config.shape.max_positions < LEAST_POSITIONS:
            raise ModelError(
                f"{folder.path}: {folder.config.shape.max_positions} positions; a stream needs {LEAST_POSITIONS}: half "
                f"of them for history, and room for a long word in the rest"
            )
        config, shape = folder.config, folder.config.shape
        # Before anything is loaded: it may be wrong.
        chosen = default_policy(config.policy) if policy is None else parse_policy(policy)
        settings = Settings(
            gamma=config.gamma,
            history=config.history if history is None else history,
            beam=config.beam if beam is None else beam,
        )
        reverse = None if reverse_model is None else _reverse_of(folder, reverse_model, threads, providers, kernels)
        runtime = open_runtime(folder, threads, providers, kernels)
        native = runtime.kernels if isinstance(runtime, NativeRuntime) else None
        runtime.warm_up(streams, settings.beam)
        languages = (config.source_language, config.target_language)
        loaded = Model(
            "-".join(languages),
            runtime,
            folder.source_subwords,
            folder.target_subwords,
            encoder=shape.encoder,
            anchor=shape.anchor,
            gamma=config.gamma,
            history=settings.history,
            max_positions=shape.max_positions,
            source_opening=shape.source_opening,
            normalises=config.normalisation != AS_GIVEN,
            recases=config.recases,
            languages=languages,
            fingerprint=folder.sha256()[:SHORT_SUM],
            beam=settings.beam,
            attention=Attention(config.attention_layer, config.attention_head),
            heads=load_heads(folder, native.perceptron if native else perceptron_sum),
            source_piece=config.source_piece,
            target_piece=config.target_piece,
            closes_prefixes=config.closes_prefixes,
            recompute=config.recompute,
            search=config.search,
            length_penalty=config.length_penalty,
            layers=shape.decoder_layers,
            policy=chosen,
            dial=config.dial or unmeasured_dial(chosen),
            free=config.free,
            reverse=reverse,
            choose=choose_of(runtime),
            sureness=native.sureness if native else row_sureness,
            searches=native is not None,
            names=_names(folder),
        )
        return cls(folder, loaded)

    def warm_up(self, streams: int) -> None:
        """Loads what is missing to run so many streams together without delay."""
        assert isinstance(self.model.backend, Runtime | NativeRuntime)
        self.model.backend.warm_up(streams, self.model.beam)

    def stream(
        self,
        *,
        k: int | None = None,
        policy: Policy | str | None = None,
        gamma: float | None = None,
        window: int = 2,
        history: int | None = None,
        rounding: Rounding | None = None,
        encoding: Encoding = "incremental",
        recompute: bool | None = None,
        beam: int | None = None,
        max_lag: int | None = None,
        target_lag: str | float | None = None,
        glossary: Glossary | str | Path | None = None,
        punctuation: bool = False,
        max_words: int = MAX_WORDS,
        segmenter: Segmenter | None = None,
        segmentation: Segmentation | None = None,
        cut: Cut | None = None,
        first_block: int | None = None,
    ) -> Stream:
        """A new stream.

        `policy` says when words are written, such as "hold-n:n=3" (docs/policies.md); `k` and `rounding` are short for
        wait-k. Without any of them, the policy is the model's own: wait-k with k = 4, if it says nothing. `max_lag` is
        for policies that look at drafts. `target_lag`, such as 5 (words) or "3s", moves the policy's parameter between
        sentences to keep that mean lag. `glossary` says how terms are to be translated (docs/terms.md): a file, or what
        `parse_glossary` gives.

        `gamma`, `history` and `beam` are the model's own unless given. Sentence ends come from the model's segmenter,
        which looks `window` words ahead; from the input's punctuation, if `punctuation`; or from a `segmenter` of
        yours, which has a window and a greatest length of its own. `segmentation` names them: "model", "punctuation",
        or "free", where a model that was trained for it ends sentences itself. It then cuts the source by its attention
        or by a reverse model, if one is loaded; `cut` chooses. `first_block` is for streams that share what is encoded
        (`audience`).
        """
        if policy is None and k is None and rounding is None:
            policy = self.model.policy
        timing: dict[str, Any] = {"k": k, "rounding": rounding, "policy": policy, "max_lag": max_lag}
        timing["target_lag"] = target_lag
        settings = Settings(
            **{name: value for name, value in timing.items() if value is not None},
            gamma=self.model.gamma if gamma is None else gamma,
            history=self.model.history if history is None else history,
            encoding=encoding,
            recompute=self.model.recompute if recompute is None else recompute,
            beam=self.model.beam if beam is None else beam,
            glossary=read_glossary(Path(glossary)) if isinstance(glossary, str | Path) else glossary,
            first_block=first_block,
        )
        if segmenter is not None and (punctuation or segmentation is not None):
            other = "punctuation" if punctuation else "segmentation"
            raise InputError(f"segmenter and {other} are both given: choose one of them for the sentence ends")
        if segmenter is None:
            segmenter = self._segmenter(_segmentation(segmentation, punctuation, cut), window, max_words, cut)
        return Stream(self.model, segmenter, settings)

    def audience(self, latencies: Sequence[int | str | Policy], **options: Any) -> Audience:
        """Streams of the same words for viewers at several latencies: each a k, or a policy such as "hold-n:n=3".

        The `options` are those of `stream` and hold for all of them. What the encoder computes is shared. For that the
        streams have one `first_block`, by default the smallest k, or 2 if a policy looks at the model. So they do not
        write quite the words that a stream with a first block of its own would (docs/python.md).
        """
        policies = [parse_latency(one) if isinstance(one, str) else one for one in latencies]
        every: list[Policy] = [one if isinstance(one, Policy) else Settings(k=one).policy for one in policies]
        if refused := [name for name in ("k", "policy", "rounding") if options.get(name) is not None]:
            raise InputError(f"{refused[0]} is given, but the latencies say it")
        options = {"first_block": common_block(self.model, every), **options}
        # The first stream's segmenter is that of all.
        streams = [self.stream(policy=policy, **options) for policy in every]
        settings = [stream.settings for stream in streams]
        return Audience(self.model, streams[0].segmenter if streams else FreeSegmenter(), settings)

    def restore_audience(self, state: dict[str, Any], segmenter: Segmenter | None = None) -> Audience:
        """An audience that goes on where `audience.state()` was taken, with the same words."""
        return Audience.restore(self.model, segmenter or self._segmenter_of(state), state)

    def restore(self, state: dict[str, Any], segmenter: Segmenter | None = None) -> Stream:
        """A stream that goes on where `stream.state()` was taken, with the same words."""
        return Stream.restore(self.model, segmenter or self._segmenter_of(state), state)

    def _segmenter_of(self, state: dict[str, Any]) -> Segmenter:
        """A new segmenter of the kind that a state was taken with."""
        try:
            saved = state["segmenter"]
            kind, window, max_words = Reason(saved["kind"]), saved["window"], saved.get("max_words", MAX_WORDS)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not the state of a stream: {error!r}") from error
        if kind is Reason.GIVEN:
            raise InputError("the stream had given sentence ends; give the segmenter again")
        return self._segmenter(_SEGMENTATION_OF.get(kind, "model"), window, max_words, saved.get("cut"))

    def _segmenter(self, segmentation: Segmentation, window: int, max_words: int, cut: Cut | None) -> Segmenter:
        checked(_Given, {"window": window, "cut": cut})
        if segmentation == "free":
            return FreeSegmenter(cut or ("attention" if self.model.reverse is None else "reverse"))
        if segmentation == "punctuation":
            return PunctuationSegmenter(self.config.source_language, window, max_words)
        if SETTINGS_FILE not in self._listed:
            raise ModelError(f"{self.folder}: the model has no segmenter; ask for punctuation, or give sentence ends")
        if window not in self._classifiers:
            _check_listed(self.folder, self._listed, window)
            self._classifiers[window] = load_classifier(self.folder, window)
        return self._classifiers[window].segmenter(max_words)


def _segmentation(named: Segmentation | None, punctuation: bool, cut: Cut | None) -> Segmentation:
    """Where sentence ends come from; `punctuation` is what earlier releases had for its name."""
    checked(_Given, {"segmentation": named})
    if punctuation and named not in (None, "punctuation"):
        raise InputError(f"punctuation and segmentation {named!r} are both given: choose one of them")
    if cut is not None and named != "free":
        raise InputError("cut is given, which is for segmentation 'free'")
    return named or ("punctuation" if punctuation else "model")


def _reverse_of(
    folder: ModelFolder, name: str | Path, threads: int, providers: Sequence[str], kernels: Kernels | None
) -> Model:
    """The model of the opposite direction, for nothing but scores."""
    other = load_folder(find_model(name))
    check_reverse(other, folder.config)
    return Translator.load(other.path, threads=threads, providers=providers, kernels=kernels).model


def _names(folder: ModelFolder) -> SpokenNames | None:
    """How misspelt names are known, if the folder has lists of words."""
    if not all(name in folder.listed for name in WORD_FILES):
        return None
    source, target = (read_words(folder.path / name) for name in WORD_FILES)
    return SpokenNames(source, target, (folder.config.source_language, folder.config.target_language))


def check_reverse(reverse: ModelFolder, config: ModelConfig) -> None:
    """Refuses a reverse model of another direction than the opposite one of `config`."""
    wanted = f"{config.target_language}-{config.source_language}"
    found = f"{reverse.config.source_language}-{reverse.config.target_language}"
    if found != wanted:
        raise ModelError(f"{reverse.path}: the reverse model translates {found}, expected {wanted}")


def check_segmenter(folder: Path, window: int) -> None:
    """That the segmenter in a folder is as its sums say. One that is in no model's folder yet has none."""
    if (folder / SUMS_FILE).exists():
        sums = read_sums(folder)
        _check_listed(folder, sums, window)
        check_sums(folder, {name: sums[name] for name in SegmenterSettings.load(folder).files(window) if name in sums})


def _check_listed(folder: Path, listed: Container[str], window: int) -> None:
    for name in SegmenterSettings.load(folder).files(window):
        if name not in listed and (folder / name).exists():
            raise ModelError(f"{folder / name}: not in {SUMS_FILE}, so it cannot be checked")
