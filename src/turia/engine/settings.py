"""What can be chosen for a stream. All of it may change while the stream runs, from the next sentence on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from turia.config import MOST_HYPOTHESES
from turia.engine.model import Model, without_attention, without_rows
from turia.errors import ConfigError, ModelError
from turia.policy.base import LearnedPolicy, LookingPolicy, Policy, check_heads
from turia.policy.lag import TargetLag, parse_target_lag
from turia.policy.table import POLICIES, parse_policy
from turia.policy.waitk import MOST_WORDS, Ratio, Rounding, WaitK
from turia.policy.whole import Whole
from turia.schema import checked, whole
from turia.text.glossary import Glossary, parse_glossary

Encoding = Literal["incremental", "full"]
LONGEST_WORD = 40
"""Pieces of a target word; a longer one is ended by force. So much room the model has left whenever one is begun, and
no further may a beam look ahead."""
LEAST_POSITIONS = 2 * (LONGEST_WORD + 2)
"""Of a model: half of them may be history."""
_UNSET: Any = object()
_MOVABLE = [name for name, policy in POLICIES.items() if policy.movable]


@dataclass(frozen=True, init=False)
class Settings:
    """Latency and search of a stream."""

    policy: Policy
    """When a word is written (docs/policies.md)."""
    gamma: Ratio
    """Target words per source word."""
    history: Annotated[int, whole(0, MOST_WORDS)]
    """Words of history on either side; 0 for none."""
    encoding: Encoding
    """`incremental` keeps encoder states; `full` encodes the window again at each READ, with all words seeing all if
    the encoder is no unidirectional one."""
    recompute: bool
    """Decoder states of words already written are computed again with all the source read since (the authors' way)."""
    beam: Annotated[int, whole(1, MOST_HYPOTHESES)]
    """Hypotheses of the speculative beam; 1 is greedy (Eq. 1)."""
    lookahead: Annotated[int, whole(1, LONGEST_WORD)]
    """Pieces that the speculative beam looks ahead while the sentence is still being spoken."""
    max_lag: Annotated[int, whole(1, MOST_WORDS)]
    """Source words by which a policy that looks at drafts may fall behind; then the engine commits a word of its own
    accord."""
    target_lag: TargetLag | None
    """The mean lag that is kept by moving the policy's parameter between sentences; None leaves it as it is."""
    glossary: Glossary | None
    """How terms are to be translated (docs/terms.md)."""
    first_block: Annotated[int, whole(1, MOST_WORDS)] | None
    """Words that a sentence begins with and that see each other in a partial bidirectional encoder. None: as many as
    had been read when its first word was written. Streams of one speaker that have the same number share what the
    encoder computes (turia.engine.shared)."""

    def __init__(
        self,
        k: int = _UNSET,
        gamma: float = 1.0,
        history: int = 60,
        rounding: Rounding = _UNSET,
        encoding: Encoding = "incremental",
        recompute: bool = False,
        beam: int = 1,
        lookahead: int = 3,
        max_lag: int = 30,
        policy: Policy | str = _UNSET,
        target_lag: TargetLag | str | float | None = None,
        glossary: Glossary | str | None = None,
        first_block: int | None = None,
    ) -> None:
        """`k` and `rounding` are short for a wait-k policy; a `glossary` may be given as the text of a table."""
        given = {
            "policy": _policy(policy, k, rounding),
            "gamma": gamma,
            "history": history,
            "encoding": encoding,
            "recompute": recompute,
            "beam": beam,
            "lookahead": lookahead,
            "max_lag": max_lag,
            "target_lag": None if target_lag is None else parse_target_lag(target_lag),
            "glossary": _glossary(glossary),
            "first_block": first_block,
        }
        values = checked(Settings, given)
        if target_lag is not None and not values["policy"].movable:
            raise ConfigError(
                f"target_lag is {values['target_lag']}, but policy {values['policy'].name} has no parameter that "
                f"could be moved to keep it; policies that have one: {', '.join(_MOVABLE)}"
            )
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def k(self) -> int | None:
        """Of wait-k; other policies have none."""
        return self.policy.k if isinstance(self.policy, WaitK) else None

    def changed(self, **changes: Any) -> Settings:
        """These settings with some of them changed; a new `k` or `rounding` keeps the rest of a wait-k policy."""
        short = {name: changes.pop(name) for name in ("k", "rounding") if name in changes}
        if short:
            if "policy" in changes:
                raise ConfigError(f"policy and {' and '.join(short)} are both given; {next(iter(short))} is for wait-k")
            old = self.policy if isinstance(self.policy, WaitK) else WaitK()
            new = _policy(_UNSET, short.get("k", old.k), short.get("rounding", old.rounding))
            changes["policy"] = replace(old, **new.parameters())
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Plain data, from which `from_json` makes them again."""
        target = None if self.target_lag is None else str(self.target_lag)
        data = asdict(self) | {"policy": str(self.policy), "target_lag": target}
        # Left out where there is none: releases that do not know the key can go on with such a stream.
        if data["first_block"] is None:
            del data["first_block"]
        glossary: Glossary | None = data.pop("glossary")
        return data if glossary is None else data | {"glossary": glossary.text}

    def listed(self) -> dict[str, Any]:
        """As notes list them: wait-k by its k and rounding, as in release 0.1, which knew no gamma of a policy."""
        values = self.to_json() | {"glossary": None if self.glossary is None else str(self.glossary)}
        if isinstance(self.policy, WaitK) and self.policy.gamma is None:
            del values["policy"]
            return {"k": self.policy.k, "rounding": self.policy.rounding, **values}
        return values

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Settings:
        """What `to_json` gave, here or in release 0.1, whose only policy was wait-k."""
        return cls(**data)


def fitting(model: Model, settings: Settings, free: bool = False) -> Settings:
    """`settings`, if the model can be run with them, with a segmenter or `free` of one."""
    if free:
        _check_free(model, settings)
    if model.anchor == "window" and not isinstance(settings.policy, WaitK | Whole):
        raise ModelError(
            f"{model.name}: policy {settings.policy.name} needs masks that are anchored at the sentence; "
            "this model's count k in pieces of the window: use wait-k"
        )
    if settings.first_block is not None and (free or model.anchor == "window"):
        raise ModelError(
            f"{model.name}: first_block needs a segmenter, and masks that are anchored at the sentence: leave it out"
        )
    policy = settings.policy
    if isinstance(policy, LearnedPolicy):
        check_heads(policy, model.heads, model.name)
        if not model.backend.gives_states:
            raise ModelError(
                f"{model.name}: policy {policy.name} looks at states, which this model folder does not give; "
                "export the model again with this release"
            )
    if isinstance(policy, LookingPolicy) and policy.attention:
        if not model.backend.can_look:
            raise ModelError(without_attention(model.name, policy.name))
        layers = model.layers
        if layers is not None and policy.layer is not None and not -layers <= policy.layer < layers:
            raise ConfigError(
                f"policy {policy.name}: layer is {policy.layer}, expected 0 to {layers - 1} "
                f"(or -1 for the last): the decoder of {model.name} has {layers} layers"
            )
    return settings


def _check_free(model: Model, settings: Settings) -> None:
    if not model.free:
        raise ModelError(
            f"{model.name}: segmentation 'free' needs a model that was trained to end sentences itself; this one was "
            "not: recipes/free-de-en.toml tunes one, or use segmentation 'model'"
        )
    if not model.backend.can_look:
        raise ModelError(without_rows(model.name, "segmentation 'free'"))
    if isinstance(settings.policy, Whole):
        raise ConfigError(
            "policy whole waits for the end of the sentence, which nobody tells with segmentation 'free': use wait-k"
        )
    if settings.glossary is not None:
        raise ConfigError("glossary is set, which segmentation 'free' cannot follow: leave it out, or use a segmenter")
    if settings.recompute:
        raise ConfigError("recompute is True, which segmentation 'free' cannot do: leave it out")


def _policy(policy: Policy | str, k: int, rounding: Rounding) -> Policy:
    if policy is not _UNSET:
        if short := [name for name, value in (("k", k), ("rounding", rounding)) if value is not _UNSET]:
            raise ConfigError(f"policy and {short[0]} are both given; {short[0]} is short for policy wait-k")
        if isinstance(policy, str):
            return parse_policy(policy)
        if not isinstance(policy, Policy):
            raise ConfigError(f"policy is {policy!r}, expected a policy such as 'wait-k:k=4'")
        return policy
    given = {"k": k, "rounding": rounding}
    return WaitK(**checked(WaitK, {name: value for name, value in given.items() if value is not _UNSET}))


def _glossary(given: Glossary | str | None) -> Glossary | None:
    if given is not None and not isinstance(given, Glossary | str):
        raise ConfigError(f"glossary is {given!r}, expected a Glossary or the text of a table")
    glossary = parse_glossary(given) if isinstance(given, str) else given
    # One without terms is as good as none.
    return glossary if glossary is not None and len(glossary) else None
