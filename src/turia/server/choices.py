"""What a client chooses for its session, and the engine's stream for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from turia.engine.model import Model
from turia.engine.stream import Stream
from turia.engine.terms import check_glossary
from turia.errors import ConfigError, ModelError
from turia.policy.base import Policy
from turia.policy.table import parse_policy
from turia.policy.waitk import WaitK
from turia.protocol.client_messages import NewSession, SettingsChange
from turia.protocol.values import MAX_K, ProtocolError
from turia.runtime.glossary_file import GlossaryFile
from turia.segmenter.announced import AnnouncedSegmenter
from turia.segmenter.online import Segmenter
from turia.text.glossary import Glossary, parse_glossary


class Translating(Protocol):
    """What begins streams: a Translator, or a test's fake."""

    model: Model
    glossary_file: GlossaryFile | None
    """The terms of all sessions that have none of their own."""

    def stream(
        self,
        *,
        policy: Policy | None = None,
        target_lag: str | None = None,
        punctuation: bool,
        segmenter: Segmenter | None = None,
        glossary: Glossary | None = None,
        segmentation: Literal["free"] | None = None,
        first_block: int | None = None,
    ) -> Stream: ...

    def restore(self, state: dict[str, Any], segmenter: Segmenter | None = None) -> Stream: ...


Translators = Mapping[str, Translating]


@dataclass(frozen=True)
class StreamChoice:
    """What a client has chosen for its session."""

    model: str
    policy: Policy
    punctuation: bool
    pause: float | None = None
    """Seconds of silence that close a sentence; None is what the server has."""
    target_lag: str | None = None
    """The mean lag to keep."""
    also: tuple[str, ...] = ()
    """The sessions that follow this one: a model, or MODEL@LATENCY."""
    follows: bool = False
    """Whether it is fed by another session, which has found the sentence ends too."""
    glossary: Glossary | None = None
    """Of this session, in place of the server's."""
    free: bool = False
    """Whether the model ends sentences itself, without a segmenter."""
    first_block: int | None = None
    """Of sessions that differ in their latency alone, so that they share what the encoder computes."""
    own_latency: bool = False
    """Whether it keeps its latency when that of the session changes that it follows."""

    def timing(self) -> dict[str, Any]:
        """The engine's settings that say when words are written."""
        return {"policy": self.policy, "target_lag": self.target_lag}


def policy_of(k: int | None, text: str | None, before: Policy) -> Policy:
    """The policy that messages and stored sessions mean by `k` and `policy`, after another one."""
    if text is not None:
        return parse_policy(text)
    if k is None:
        return before
    return replace(before, k=k) if isinstance(before, WaitK) else WaitK(k)


def own_policy(translators: Translators, model: str) -> Policy:
    """What sessions have that choose neither k nor policy."""
    return translators[model].model.policy if model in translators else WaitK()


def policy_keys(policy: Policy) -> tuple[int, str | None]:
    """`k` and `policy` for messages and stored sessions. The usual wait-k is its k alone, as in release 0.1; beside any
    other policy `k` means nothing."""
    if isinstance(policy, WaitK) and policy == WaitK(policy.k) and policy.k <= MAX_K:
        return policy.k, None
    return WaitK.k, str(policy)


def begin_stream(translators: Translators, choice: StreamChoice) -> Stream:
    """A new stream of the engine. Here and in `change_stream` a client's choices become the engine's settings."""
    if choice.model not in translators:
        raise ProtocolError("model", f"no such model; this server has {', '.join(translators)}")
    timing = choice.timing()
    try:
        if glossary := glossary_of(translators, choice):
            timing["glossary"] = glossary
        if choice.first_block is not None and translators[choice.model].model.anchor == "sentence":
            timing["first_block"] = choice.first_block
        if choice.follows:
            return translators[choice.model].stream(**timing, punctuation=False, segmenter=AnnouncedSegmenter())
        if choice.free:
            timing["segmentation"] = "free"
        return translators[choice.model].stream(**timing, punctuation=choice.punctuation)
    except ConfigError as error:
        raise ProtocolError("settings", str(error)) from None
    except ModelError:
        if choice.free and not translators[choice.model].model.free:
            raise ProtocolError("model", "this model was not trained to work without a segmenter") from None
        if choice.free or finds_sentences(translators[choice.model]):
            raise ProtocolError("model", f"this model cannot be run with policy {choice.policy}") from None
        raise ProtocolError("model", "this model finds no sentence ends; ask for punctuation") from None


def glossary_of(translators: Translators, choice: StreamChoice) -> Glossary | None:
    """The session's own glossary, or else what the server's file for the model says now."""
    file = translators[choice.model].glossary_file
    return file.current() if choice.glossary is None and file is not None else choice.glossary


def chosen_anew(translators: Translators, choice: StreamChoice, change: SettingsChange) -> StreamChoice:
    """With all of the change: what a new stream begins with."""
    changed = change.punctuation is not None
    punctuation = bool(change.punctuation) if changed else choice.punctuation
    model = change.model or choice.model
    # The terms of one direction are none of another.
    own = choice.glossary if model == choice.model else None
    if change.glossary is not None:
        # An empty text: none of its own any more.
        own = parse_glossary(change.glossary) if change.glossary else None
    free = choice.free and not changed
    # Who has what the model brought along gets what the other model brings along: that it can run.
    usual = choice.policy == own_policy(translators, choice.model)
    before = own_policy(translators, model) if usual and model != choice.model else choice.policy
    # Whoever chooses a fixed k or policy does not want it moved.
    fixed = change.k is not None or change.policy is not None
    return replace(
        choice,
        model=model,
        policy=policy_of(change.k, change.policy, before),
        target_lag=change.target_lag if change.target_lag or fixed else choice.target_lag,
        punctuation=punctuation,
        glossary=own,
        free=free,
    )


def check_change(translators: Translators, choice: StreamChoice, change: SettingsChange) -> StreamChoice:
    """The settings as the change leaves them. Refuses what no stream can begin with, and terms that the model cannot
    spell; but a policy that the model cannot have is only left out, of which a note tells (`Captions`)."""
    if change.glossary:
        try:
            model = translators[change.model or choice.model].model
            check_glossary(model, parse_glossary(change.glossary))
        except (KeyError, ConfigError):
            # The cause may hold what was said.
            raise ProtocolError("settings", "the model cannot spell a term of the glossary") from None
    chosen = chosen_anew(translators, choice, change)
    try:
        begin_stream(translators, chosen)
    except ProtocolError:
        if change.model is not None or change.punctuation is not None:
            raise
        chosen = replace(chosen, policy=choice.policy, target_lag=choice.target_lag)
        if change.glossary is not None:
            begin_stream(translators, chosen)
    return chosen


def change_stream(stream: Stream, choice: StreamChoice) -> None:
    """Another choice for the same model, from the next sentence on."""
    stream.change(**choice.timing())


def finds_sentences(translator: Translating) -> bool:
    """Whether the model has a segmenter of the usual window; without one it needs input with punctuation."""
    try:
        translator.stream(policy=WaitK(1), punctuation=False)
    except ModelError:
        return False
    return True


def any_stream(translator: Translating, policy: Policy | None = None) -> Stream:
    """A stream that takes words as the model can: without punctuation if it finds sentence ends. Its policy is the
    model's own, unless there is another."""
    return translator.stream(policy=policy, punctuation=not finds_sentences(translator))


def chosen_stream(translators: Translators, chosen: NewSession) -> StreamChoice:
    """What a client has chosen, and where it has chosen nothing what the model itself has."""
    model = chosen.model or next(iter(translators))
    policy = policy_of(chosen.k, chosen.policy, own_policy(translators, model))
    terms = None if chosen.glossary is None else parse_glossary(chosen.glossary)
    punctuation, free = chosen.punctuation or chosen.segmentation == "punctuation", chosen.segmentation == "free"
    return StreamChoice(model, policy, punctuation, chosen.pause, chosen.target_lag, glossary=terms, free=free)
