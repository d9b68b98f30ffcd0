"""Policies as people type them, and what is said of typing errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.engine.fakes import Echo, run, stream_of
from turia.errors import ConfigError
from turia.policy.base import Policy
from turia.policy.holdn import HoldN
from turia.policy.table import POLICIES, make_policy, parse_latency, parse_policy
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole
from turia.stream.trace import Write


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("wait-k", WaitK(4)),
        ("wait-k:k=7", WaitK(7)),
        ("wait-k:k=7,gamma=1.1,rounding=ceil", WaitK(7, 1.1, "ceil")),
        ("wait-k:gamma=1", WaitK(4, 1.0)),
        ("wait-k:gamma=15e-1", WaitK(4, 1.5)),
        ("wait-k:gamma=.5", WaitK(4, 0.5)),
        (" hold-n : n = 2 ".replace(" ", ""), HoldN(2)),
        ("hold-n:n=0", HoldN(0)),
        ("whole", Whole()),
        ("whole:", Whole()),
    ],
)
def test_what_people_type(text: str, policy: Policy) -> None:
    assert parse_policy(text) == policy


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_what_it_prints(name: str) -> None:
    policy = make_policy(name, {})
    assert str(policy).partition(":")[0] == name
    assert parse_policy(str(policy)) == policy


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("wait-q", "no policy 'wait-q'; did you mean 'wait-k'?"),
        ("", "no policy ''; known policies: wait-k, whole, hold-n, local-agreement, alignatt, edatt, adaptive"),
        ("wait-k:kk=3", "policy wait-k: unknown key 'kk'; did you mean 'k'?"),
        ("wait-k:k=0", "policy wait-k: k is 0, expected a whole number from 1 to 1000000"),
        ("wait-k:k=2.5", "policy wait-k: k is 2.5, expected a whole number"),
        ("wait-k:k=1_0", "policy wait-k: k is '1_0', expected a whole number"),
        ("wait-k:k=\u0663", "policy wait-k: k is '\u0663', expected a whole number"),
        ("wait-k:k=9999999999999999999", "policy wait-k: k is 1e+19, expected a whole number"),
        ("wait-k:gamma=\u0661.5", "policy wait-k: gamma is '\u0661.5', expected a number"),
        ("wait-k:gamma=nan", "policy wait-k: gamma is 'nan', expected a number"),
        ("wait-k:k=many", "policy wait-k: k is 'many', expected a whole number"),
        ("wait-k:k=3,k=4", "policy 'wait-k:k=3,k=4': k is given twice"),
        ("wait-k:k", "policy 'wait-k:k': expected NAME:key=value,key=value, found 'k'"),
        ("wait-k:=3", "expected NAME:key=value,key=value, found '=3'"),
        ("wait-k:rounding=up", "policy wait-k: rounding is 'up', expected one of 'floor', 'ceil'"),
        ("hold-n:n=-1", "policy hold-n: n is -1, expected a whole number from 0"),
        ("whole:n=1", "policy whole: unknown key 'n'; known keys: none"),
    ],
)
def test_typing_errors_are_named(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as found:
        parse_policy(text)
    assert complaint in str(found.value)


@pytest.mark.parametrize("text", ["8", " 8", "k=8", "wait-k:k=8"])
def test_a_latency_is_a_k_or_a_policy(text: str) -> None:
    assert parse_latency(text) == WaitK(8)


@pytest.mark.parametrize("text", ["\u0668", "1_0", "k=\u0668"])
def test_a_latency_is_in_plain_digits(text: str) -> None:
    with pytest.raises(ConfigError, match="no policy"):
        parse_latency(text)


def test_a_class_of_ten_lines_and_an_entry_of_the_table_make_a_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of docs/policies.md that counts; tests/engine/test_policies.py has the one that looks."""
    page = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "docs/policies.md", "exec", dont_inherit=True), names)
    monkeypatch.setitem(POLICIES, "pairs", names["Pairs"])
    pairs = stream_of(Echo(), [8], policy="pairs:lead=2")
    records = run(pairs, ["ka", "le", "mi", "no", "pu", "ra", "ka", "le"])
    assert [record.read for record in records if isinstance(record, Write)] == [4, 4, 6, 6, 8, 8, 8, 8]
    assert pairs.header()["policy"] == "pairs:lead=2"
