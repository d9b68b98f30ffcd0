"""What can be chosen for a stream: what is refused, by whom, and with which words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.engine.fakes import Echo, fake_model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import ConfigError, InputError
from turia.policy.holdn import HoldN
from turia.policy.waitk import WaitK
from turia.segmenter.online import GivenSegmenter


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 0),
        ("k", float("nan")),
        ("k", float("inf")),
        ("k", 2.5),
        ("k", "4"),
        ("k", True),
        ("k", None),
        ("k", 10**20),
        ("gamma", 0.0),
        ("gamma", float("nan")),
        ("gamma", True),
        ("gamma", "1.0"),
        ("gamma", None),
        ("history", -1),
        ("history", float("nan")),
        ("history", 10**20),
        ("rounding", "up"),
        ("rounding", None),
        ("encoding", "half"),
        ("recompute", "no"),
        ("recompute", 1),
        ("beam", 0),
        ("beam", 2.0),
        ("beam", 65),
        ("lookahead", 0),
        ("lookahead", 10**9),
    ],
)
def test_bad_settings_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{name} is {value!r}, expected"):
        Settings(**{name: value})


def test_the_ends_of_what_is_allowed() -> None:
    assert Settings(k=1_000_000, gamma=10, history=0, beam=64, lookahead=40).beam == 64


def test_whole_numbers_of_numpy_become_plain_ones() -> None:
    assert type(Settings(k=np.int64(3)).k) is int  # type: ignore[arg-type]


@pytest.mark.parametrize("word", [b"haus", None, 3, ["haus"]])
def test_a_word_that_is_no_text_is_refused_and_does_no_harm(word: Any) -> None:
    stream = Stream(fake_model(Echo()), GivenSegmenter([9]), Settings())
    with pytest.raises(InputError, match=f"a word is a str, not {type(word).__name__}"):
        stream.push(word)
    assert stream.push("ka") == []
    assert stream.read == 1


def test_k_is_short_for_wait_k() -> None:
    assert Settings(k=7) == Settings(policy="wait-k:k=7") == Settings(policy=WaitK(7))
    assert Settings().k == 4
    assert Settings(policy="hold-n:n=2").k is None


def test_a_change_of_k_keeps_the_rest_of_a_wait_k_policy() -> None:
    old = Settings(policy="wait-k:k=4,rounding=ceil", gamma=1.2)
    assert old.changed(k=6).policy == WaitK(6, rounding="ceil")
    assert old.changed(k=6).gamma == 1.2
    assert old.changed(policy="hold-n:n=1").policy == HoldN(1)
    assert old.changed(policy="hold-n:n=1").changed(k=2).policy == WaitK(2)


@pytest.mark.parametrize(
    ("chosen", "complaint"),
    [
        ({"policy": "hold-n:n=2", "k": 4}, "policy and k are both given"),
        (
            {"policy": "whole", "rounding": "ceil"},
            "policy and rounding are both given; rounding is short for policy wait-k",
        ),
        ({"policy": "hold-m"}, "no policy 'hold-m'; did you mean 'hold-n'?"),
        ({"policy": 3}, "policy is 3, expected a policy such as 'wait-k:k=4'"),
        ({"max_lag": 0}, "max_lag is 0, expected a whole number from 1"),
    ],
)
def test_policies_that_cannot_be_are_refused(chosen: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint.replace("?", r"\?")):
        Settings(**chosen)


@pytest.mark.parametrize("policy", ["wait-k:k=3,gamma=1.1,rounding=ceil", "hold-n:n=2", "whole"])
def test_settings_come_back_from_their_json(policy: str) -> None:
    chosen = Settings(policy=policy, gamma=1.3, history=20, beam=2, max_lag=9)
    assert Settings.from_json(json.loads(json.dumps(chosen.to_json()))) == chosen


def test_settings_of_release_0_1_are_read() -> None:
    old = {"k": 5, "gamma": 1.1, "history": 60, "rounding": "ceil", "encoding": "incremental", "recompute": False}
    assert Settings.from_json(old | {"beam": 1, "lookahead": 3}).policy == WaitK(5, rounding="ceil")
