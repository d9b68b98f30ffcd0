"""States of streams that were damaged: refused when they are restored, not a few words later."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from tests.engine.fakes import Chaos, Echo, fake_model, stream_of, subwords
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import InputError
from turia.policy.base import CountingPolicy, Situation
from turia.policy.table import POLICIES
from turia.segmenter.online import GivenSegmenter
from turia.segmenter.punctuation import PunctuationSegmenter
from turia.text.symbols import PAD_ID, SEP_ID


def saved() -> dict[str, Any]:
    """A state in the middle of the second sentence: a pair of history, a word of two pieces, two words waiting."""
    stream = Stream(fake_model(Echo()), GivenSegmenter([2, 9], 1), Settings(k=1))
    for word in ("ka", "le", "mi", "kanole", "no", "pu"):
        stream.push(word)
    state: dict[str, Any] = json.loads(json.dumps(stream.state()))
    return state


def restore(state: Any) -> Stream:
    return Stream.restore(fake_model(Echo()), GivenSegmenter([2, 9], 1), state)


def test_a_whole_state_is_restored() -> None:
    state = saved()
    assert len(state["history"]["pairs"]) == 1
    assert max(state["target"]["pieces"]) > 1
    assert restore(state).state() == state


@dataclass(frozen=True)
class Own(CountingPolicy):
    """Somebody's own policy, which no table has."""

    name: ClassVar[str] = "own"

    def may_write(self, at: Situation) -> bool:
        return at.written < at.read


@pytest.mark.parametrize("key", ["settings", "pending_settings"])
def test_a_policy_that_is_in_no_table_is_named(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = saved()
    state[key] = Settings(policy=Own()).to_json()
    with pytest.raises(InputError, match=r"^stream state with policy 'own', .* turia\.policy\.table\.POLICIES"):
        restore(state)
    monkeypatch.setitem(POLICIES, "own", Own)
    assert restore(state).state()[key]["policy"] == "own"


def test_a_state_stays_as_it_was_taken() -> None:
    state = saved()
    before = deepcopy(state)
    first, second = restore(state), restore(state)
    assert first.push("ra") == second.push("ra") != []
    assert first.flush() == second.flush()
    assert state == before
    assert restore(state).state() == before


def test_a_long_translation_behind_a_source_of_many_pieces_is_restored() -> None:
    """The room of the target is what its own history leaves, not what the source's does."""
    model = fake_model(Chaos(), max_positions=128)
    long = [subwords().encode_word("ka")[0]] * 50
    state = Stream(model, GivenSegmenter([60]), Settings(k=1)).state()
    pair = [{"ids": long, "pieces": [1] * 50}, {"ids": long[:2], "pieces": [1, 1]}]
    written = {"ids": long[:1] * 84, "pieces": [1] * 84}
    state |= {
        "history": {"pairs": [pair], "reads": [[1, 2]], "from_start": True},
        "source": {"ids": long[:1], "pieces": [1]},
        "target": written,
        "row_limits": [53] * 84,
        "reads": [1] * 84,
        "words": ["ka"] * 84,
        "lag": {**state["lag"], "delays": [1] * 84},
        "counts": {**state["counts"], "read": 1},
    }
    assert Stream.restore(model, GivenSegmenter([60]), state).state() == state
    too_long = {"ids": long[:1] * 125, "pieces": [1] * 125}
    state |= {"target": too_long, "row_limits": [53] * 125, "reads": [1] * 125, "words": ["ka"] * 125}
    state["lag"] = {**state["lag"], "delays": [1] * 125}
    with pytest.raises(InputError, match="what the model has room for"):
        Stream.restore(model, GivenSegmenter([60]), state)


LIMITS = len(saved()["row_limits"])
LONG = [next(iter(subwords().encode_word("ka")))] * 300
"""More than half of 512 positions."""
DAMAGES = [
    *[("row_limits", [limit] * LIMITS) for limit in (99, -1, 0, "a", 1.5, True, 6)],
    ("row_limits", saved()["row_limits"][::-1]),
    ("row_limits", "abc"),
    ("segmenter.pending", [1]),
    ("segmenter.pending", "a"),
    ("segmenter.pending", ["a b"]),
    ("segmenter.pending", ["a", "b", "c"]),
    *[("segmenter.open_words", value) for value in ("x", -1, True, None)],
    *[("segmenter.given_out", value) for value in ("x", -1, True, None, 12)],
    ("settings.policy", "wait-k:k=2.5"),
    ("settings.policy", "wait-for-it"),
    ("settings.policy", 3),
    ("reads", [0] * len(saved()["reads"])),
    ("reads", [99] * len(saved()["reads"])),
    ("reads", []),
    ("history.reads", [[1], [1]]),
    ("policy_memory", [1]),
    ("settings.beam", 10**9),
    ("pending_settings", {"k": 2.5}),
    ("pending_settings", 3),
    ("target.pieces", [3, -1]),
    ("target.ids", [SEP_ID] * LIMITS),
    ("target.ids", [PAD_ID] * LIMITS),
    ("target.ids", [9.0] * LIMITS),
    ("source.ids", [SEP_ID] * len(saved()["source"]["ids"])),
    ("source.ids", "abc"),
    ("history.from_start", "no"),
    ("history.pairs", [[{"ids": [SEP_ID], "pieces": [1]}, {"ids": [9], "pieces": [1]}]]),
    ("history.pairs", [[{"ids": LONG, "pieces": [1] * 300}, {"ids": LONG[:1], "pieces": [1]}]]),
    ("history.pairs", [[{"ids": LONG[:1], "pieces": [1]}, {"ids": LONG, "pieces": [1] * 300}]]),
    ("history.pairs", [[{"ids": [], "pieces": []}, {"ids": [9], "pieces": [1]}]]),
    ("history.pairs", [[{"ids": [9], "pieces": [1]}, {"ids": [], "pieces": []}]]),
    *[(f"counts.{name}", value) for name in ("read", "written", "sentence", "replaced") for value in (-5, True, 1.0)],
    ("ended", "no"),
    ("muted", "no"),
    ("words", [1] * len(saved()["words"])),
    ("words", "x" * len(saved()["words"])),
]


@pytest.mark.parametrize(("place", "value"), DAMAGES, ids=[f"{place}={value!r:.30}" for place, value in DAMAGES])
def test_a_damaged_state_is_refused(place: str, value: Any) -> None:
    state = saved()
    *above, name = place.split(".")
    part = state
    for key in above:
        part = part[key]
    part[name] = value
    with pytest.raises(InputError, match="state"):
        restore(state)


def test_target_pieces_that_make_other_words_are_refused() -> None:
    """The sums are right, but a word has no end, or one in its middle."""
    state = saved()
    pieces = state["target"]["pieces"]
    long = next(number for number, count in enumerate(pieces) if count > 1)
    for damaged in (
        [*pieces[:long], pieces[long] - 1, pieces[long + 1] + 1, *pieces[long + 2 :]],
        [*pieces[:long], pieces[long] - pieces[long], pieces[long + 1] + pieces[long], *pieces[long + 2 :]],
    ):
        assert sum(damaged) == sum(pieces)
        with pytest.raises(InputError, match="damaged"):
            restore(state | {"target": state["target"] | {"pieces": damaged}})


@pytest.mark.parametrize("state", [None, [], "x", 3])
def test_what_is_no_state_at_all_is_refused(state: Any) -> None:
    with pytest.raises(InputError, match="not the state of a stream"):
        restore(state)


@pytest.mark.parametrize(("name", "value"), [("cased", "no"), ("cased", 1), ("pending", [3]), ("open_words", 61)])
def test_a_damaged_state_of_punctuation_is_refused(name: str, value: Any) -> None:
    state = deepcopy(PunctuationSegmenter("de").state())
    with pytest.raises(InputError, match=f"segmenter state.*{name}"):
        PunctuationSegmenter("de").restore(state | {name: value})


def test_a_state_with_a_part_missing_is_refused() -> None:
    stream = stream_of(Echo(), [4, 4], k=1)
    stream.push("ka")
    whole = stream.state()
    for name in whole:
        damaged = {key: value for key, value in whole.items() if key != name}
        with pytest.raises(InputError, match="stream state"):
            Stream.restore(fake_model(Echo()), GivenSegmenter([4, 4]), damaged)


@pytest.mark.parametrize(
    "damage",
    [
        {"words": None},
        {"words": []},
        {"history": {"pairs": [[]], "from_start": True}},
        {"segmenter": 3},
        {"row_limits": []},
        {"counts": {"read": "x", "written": 1, "sentence": 0, "replaced": 0}},
        {"source": {"ids": [10**6], "pieces": [1]}},
        {"source": {"ids": [9], "pieces": [2]}},
    ],
)
def test_a_state_that_makes_no_sense_is_refused(damage: dict[str, Any]) -> None:
    stream = stream_of(Echo(), [4, 4], k=1)
    stream.push("ka")
    with pytest.raises(InputError, match="damaged"):
        Stream.restore(fake_model(Echo()), GivenSegmenter([4, 4]), stream.state() | damage)


def test_a_state_of_other_pieces_is_refused() -> None:
    stream = stream_of(Echo(), [4, 4], k=1)
    with pytest.raises(InputError, match="other pieces"):
        Stream.restore(fake_model(Echo()), GivenSegmenter([4, 4]), stream.state() | {"pieces": "0123456789abcdef"})
