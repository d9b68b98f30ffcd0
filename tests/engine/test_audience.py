"""One speaker's words at several latencies."""

from __future__ import annotations

import json

import pytest

from tests.engine.fakes import Chaos, Fake, Recording, fake_model, run
from turia.engine.audience import Audience, common_block
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import InputError
from turia.policy.table import parse_policy
from turia.segmenter.online import FreeSegmenter, GivenSegmenter
from turia.stream.trace import Record, SentenceEnd, Write

WORDS = ["ka", "le", "mi", "no", "pu", "ra", "ka", "mi", "no", "le", "pu"]
LENGTHS = [5, 3, 3]
SETTINGS = [
    Settings(k=2, first_block=2),
    Settings(k=4, first_block=2, beam=2),
    Settings(policy="local-agreement:n=2", first_block=2),
]


def audience_of(backend: Fake, window: int = 1) -> Audience:
    return Audience(fake_model(backend), GivenSegmenter(LENGTHS, window), SETTINGS)


def heard(audience: Audience, words: list[str]) -> list[list[Record]]:
    found: list[list[Record]] = [[] for _ in audience.streams]
    for word in words:
        for own, records in zip(found, audience.push(word), strict=True):
            own += records
    return found


def test_each_latency_gets_the_words_of_a_stream_of_its_own() -> None:
    audience = audience_of(Chaos())
    found = heard(audience, WORDS)
    found = [own + rest for own, rest in zip(found, audience.flush(), strict=True)]
    alone = [run(Stream(fake_model(Chaos()), GivenSegmenter(LENGTHS, 1), one), WORDS) for one in SETTINGS]
    assert found == alone


def test_two_latencies_write_at_their_own_time() -> None:
    audience = audience_of(Chaos(end_probability=0), window=0)
    soon, late, _ = heard(audience, WORDS[:4])
    assert [record.read for record in soon if isinstance(record, Write)] == [2, 3, 4]
    assert [record.read for record in late if isinstance(record, Write)] == [4]


def test_a_pause_ends_the_sentence_at_every_latency() -> None:
    audience = audience_of(Chaos())
    heard(audience, WORDS[:3])
    for records in audience.push_pause():
        [end] = [record for record in records if isinstance(record, SentenceEnd)]
        assert (end.source_words, end.reason) == (3, "pause")
    assert [stream.sentence for stream in audience.streams] == [1, 1, 1]


def test_tentative_words_are_shown_at_every_latency() -> None:
    audience = audience_of(Chaos(), window=0)
    heard(audience, WORDS[:2])
    assert [partial.tentative.source for partial in audience.push_partial("mi no")] == [("mi", "no")] * 3


@pytest.mark.parametrize("place", [0, 3, 5, 7, 11])
def test_a_restored_audience_goes_on_with_the_same_words(place: int) -> None:
    unbroken = audience_of(Chaos())
    expected = heard(unbroken, WORDS)
    audience = audience_of(Chaos())
    found = heard(audience, WORDS[:place])
    state = json.loads(json.dumps(audience.state()))
    again = Audience.restore(fake_model(Chaos()), GivenSegmenter(LENGTHS, 1), state)
    found = [own + rest for own, rest in zip(found, heard(again, WORDS[place:]), strict=True)]
    assert found == expected
    assert again.flush() == unbroken.flush()


def test_the_source_is_encoded_once() -> None:
    backend = Recording()
    audience = Audience(fake_model(backend), GivenSegmenter(LENGTHS), SETTINGS[:2])
    heard(audience, WORDS)
    once = Recording()
    heard(Audience(fake_model(once), GivenSegmenter(LENGTHS), SETTINGS[:1]), WORDS)
    assert len(backend.encoded) == len(once.encoded)
    writers = [stream.current.writer for stream in audience.streams]
    assert writers[0].states()[0] is writers[1].states()[0]


def test_a_policy_that_looks_shares_the_encoder_once_it_has_the_first_block() -> None:
    backend = Recording()
    audience = Audience(fake_model(backend), GivenSegmenter(LENGTHS, 0), SETTINGS)
    heard(audience, WORDS[:3])
    encoded = len(backend.encoded)
    states = [stream.current.writer.states()[0] for stream in audience.streams]
    assert states[0] is states[2]
    audience.push(WORDS[3])
    assert len(backend.encoded) == encoded + 1


def test_the_common_block_is_the_smallest_k() -> None:
    model = fake_model(Chaos())
    assert common_block(model, [parse_policy(text) for text in ("wait-k:k=6", "wait-k:k=3", "whole")]) == 3
    assert common_block(model, [parse_policy("whole")]) == 4
    # They write before as many words are read as others wait for.
    looking = parse_policy("hold-n:n=3")
    assert common_block(model, [parse_policy("wait-k:k=6"), looking]) == common_block(model, [looking]) == 2
    assert common_block(model, [parse_policy("wait-k:k=1"), looking]) == 1
    assert common_block(fake_model(Chaos(), anchor="window"), [parse_policy("wait-k:k=6")]) is None


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="at least one latency"):
        Audience(fake_model(Chaos()), GivenSegmenter([3]), [])
    with pytest.raises(InputError, match="sentence ends that are told"):
        Audience(fake_model(Chaos()), FreeSegmenter(), SETTINGS)
    with pytest.raises(InputError, match="not the state of an audience"):
        Audience.restore(fake_model(Chaos()), GivenSegmenter([3]), {"streams": []})
    with pytest.raises(InputError, match="not the state of an audience"):
        Audience.restore(fake_model(Chaos()), GivenSegmenter([3], 1), audience_of(Chaos()).state() | {"open": -1})
