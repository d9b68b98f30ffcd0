"""The dial "sooner … surer": points of one policy, from the soonest to the surest, as they were measured on a dev set.

A model folder stores them (`dial` in config.json). A model without them has wait-k's k from 1 to 12.
"""

from __future__ import annotations

from dataclasses import dataclass

from turia.errors import ConfigError
from turia.policy.base import Policy
from turia.policy.table import parse_policy
from turia.policy.waitk import WaitK


@dataclass(frozen=True)
class DialPoint:
    """A step of the dial."""

    policy: str
    """As people type it: `alignatt:f=2`."""
    al: float | None = None
    """Words behind the speaker (AL), as measured."""
    bleu: float | None = None

    def __post_init__(self) -> None:
        parse_policy(self.policy)


USUAL_POLICY: Policy = WaitK()
USUAL_DIAL = tuple(DialPoint(f"wait-k:k={k}") for k in range(1, 13))
HOLD_DIAL = tuple(DialPoint(f"hold-n:n={n}") for n in range(1, 7))


def unmeasured_dial(policy: Policy) -> tuple[DialPoint, ...]:
    """The steps of a model that was not measured: of its own policy if that is hold-n, as added models have it."""
    return HOLD_DIAL if policy.name == "hold-n" else USUAL_DIAL


def check_dial(dial: tuple[DialPoint, ...]) -> None:
    """Refuses a dial whose steps do not go from sooner to surer."""
    lags = [point.al for point in dial if point.al is not None]
    if lags != sorted(lags):
        raise ConfigError(f"dial has AL {lags}, expected growing ones: from sooner to surer")


def default_policy(text: str | None) -> Policy:
    """The policy that streams of a model have unless told otherwise."""
    return USUAL_POLICY if text is None else parse_policy(text)
