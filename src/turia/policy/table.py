"""All policies by name, and policies as people type them: `wait-k:k=4`, `hold-n:n=3`, `whole`."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from turia.errors import ConfigError
from turia.policy.act import Act
from turia.policy.adaptive import Adaptive
from turia.policy.alignatt import AlignAtt
from turia.policy.base import Policy
from turia.policy.chunk import Chunk
from turia.policy.edatt import EDAtt
from turia.policy.holdn import HoldN
from turia.policy.localagreement import LocalAgreement
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole
from turia.schema import from_dict

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        WaitK,
        Whole,
        HoldN,
        LocalAgreement,
        AlignAtt,
        EDAtt,
        Adaptive,
        Chunk,
        Act,
    )
}


def parse_policy(text: str) -> Policy:
    """The policy that `NAME[:key=value,...]` means."""
    name, _, rest = text.strip().partition(":")
    values: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ConfigError(f"policy {text!r}: expected NAME:key=value,key=value, found {part!r}")
        if key.strip() in values:
            raise ConfigError(f"policy {text!r}: {key.strip()} is given twice")
        values[key.strip()] = _plain(value.strip())
    return make_policy(name, values)


def parse_latency(text: str) -> Policy:
    """A policy, or a k for wait-k: `8`, `k=8`."""
    k = text.strip().removeprefix("k=")
    return parse_policy(f"{WaitK.name}:k={k}" if _WHOLE.fullmatch(k) is not None else text)


def make_policy(name: str, parameters: dict[str, Any]) -> Policy:
    """The policy of this name with these parameters; the others keep their defaults."""
    if name not in POLICIES:
        near = get_close_matches(name, POLICIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known policies: {', '.join(POLICIES)}"
        raise ConfigError(f"no policy {name!r}; {hint}")
    try:
        return from_dict(POLICIES[name], parameters)
    except ConfigError as error:
        raise ConfigError(f"policy {name}: {error}") from error


def _plain(value: str) -> int | float | str:
    """A number, if it is one in plain digits: Python alone would take `1_0` and digits of other scripts, too."""
    if _WHOLE.fullmatch(value) is not None:
        return int(value)
    return float(value) if _NUMBER.fullmatch(value) is not None else value
