"""Dataclasses with every type that the schema knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest

from turia.errors import ConfigError
from turia.schema import JsonObject, Natural, Rule, from_dict, one_of, text, whole


@dataclass(frozen=True)
class Place:
    row: Natural
    name: Annotated[str, text(3)] = "a"


@dataclass(frozen=True)
class Everything:
    KEYS: ClassVar = {"session_id": "session"}
    OLD_KEYS: ClassVar = {"words_a_second": "words_per_second"}

    k: Annotated[int, whole(1, 100)] = 4
    words_per_second: float = 2.5
    reason: Annotated[str, one_of("policy", "flush")] = "policy"
    role: Literal["speaker", "viewer"] = "viewer"
    texts: str | tuple[str, ...] = ""
    at: float | None = None
    words: Annotated[tuple[Annotated[str, text(5)], ...], Rule(bool, "a list of at least one word")] = ("a",)
    place: Place = field(default_factory=lambda: Place(0))
    session_id: str = ""
    more: JsonObject = field(default_factory=dict)


def complaint(**data: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        from_dict(Everything, data)
    return str(caught.value)
