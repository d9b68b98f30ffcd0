"""Streams without a segmenter: the model ends sentences, the source is cut, and what is remembered stays bounded."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.engine.fakes import WORDS, Endless, Fake, FreeChaos, FreeEcho, Mute, fake_model
from turia.engine.batcher import run_together
from turia.engine.free import MOST_WAITS, MOST_WORDS
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import ConfigError, InputError, ModelError
from turia.segmenter.online import FreeSegmenter
from turia.stream.trace import End, Note, Record, SentenceEnd, Trace, Write, parse_trace, trace_lines
from turia.text.glossary import parse_glossary

PLAIN = [word for word in WORDS if word != "ra"]
POLICIES = ["wait-k:k=1", "wait-k:k=3", "hold-n:n=2", "local-agreement:n=2", "alignatt:f=1", "act:lag_cost=0.2"]


def speech(*lengths: int, seed: int = 3) -> list[str]:
    """Sentences of so many words each, of which the last is `ra`."""
    rng = random.Random(seed)
    return [word for length in lengths for word in [*rng.choices(PLAIN, k=length - 1), "ra"]]


def free_stream(backend: Fake, **settings: Any) -> Stream:
    return Stream(fake_model(backend, free=True), FreeSegmenter(), Settings(**{"k": 3, **settings}))


def with_policy(backend: Fake, policy: str, **settings: Any) -> Stream:
    return Stream(fake_model(backend, free=True), FreeSegmenter(), Settings(policy=policy, **settings))


def run(stream: Stream, words: list[str]) -> list[Record]:
    return [record for word in words for record in stream.push(word)] + stream.flush()


def written(records: list[Record]) -> list[str]:
    return [record.word for record in records if isinstance(record, Write)]


def ends(records: list[Record]) -> list[tuple[int, int, str]]:
    return [(r.source_words, r.target_words, r.reason) for r in records if isinstance(r, SentenceEnd)]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("k", [1, 3, 40])
def test_the_model_ends_sentences_and_the_source_is_cut_there(k: int, beam: int) -> None:
    words = speech(5, 9, 2, 14, 6)
    records = run(free_stream(FreeEcho(), k=k, beam=beam), words)
    assert written(records) == words
    assert [(source, target) for source, target, _ in ends(records)] == [(n, n) for n in (5, 9, 2, 14, 6)]
    reasons = [reason for *_, reason in ends(records)]
    assert reasons == ["free"] * 4 + ["end"]
    parse_trace(trace_lines(Trace({}, tuple(records))), source_words=len(words))
    assert records[-1] == End(len(words), len(words))


def test_the_policy_counts_within_the_active_source() -> None:
    """Wait-2: each sentence begins two words after its own first one, not after the stream's."""
    records = run(free_stream(FreeEcho(), k=2), speech(4, 5))
    assert [r.read for r in records if isinstance(r, Write)] == [2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert [r.sentence for r in records if isinstance(r, Write)] == [0] * 4 + [1] * 5


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_can_do_without_a_segmenter(policy: str) -> None:
    words = speech(5, 9, 3, 12)
    records = run(with_policy(FreeEcho(), policy), words)
    assert written(records) == words
    assert [source for source, *_ in ends(records)] == [5, 9, 3, 12]


@pytest.mark.parametrize(
    ("policy", "beam"),
    [("wait-k:k=2", 1), ("wait-k:k=2", 3), ("hold-n:n=1", 1), ("local-agreement:n=2", 2), ("act:lag_cost=0.2", 1)],
)
def test_a_stream_goes_on_from_any_state_with_the_same_words(policy: str, beam: int) -> None:
    words = random.Random(5).choices(WORDS, k=21)
    whole = with_policy(FreeChaos(), policy, beam=beam, history=6, max_lag=8)
    before: list[Record] = []
    states = []
    for word in words:
        states.append((json.loads(json.dumps(whole.state())), len(before)))
        before += whole.push(word)
    expected = before + whole.flush()
    assert any(end[2] == "free" for end in ends(expected))
    for number in (0, 5, 9, 10, 16, 20):
        state, known = states[number]
        stream = Stream.restore(whole.model, FreeSegmenter(), state)
        assert expected[:known] + run(stream, words[number:]) == expected


@pytest.mark.parametrize("policy", POLICIES[1:3])
def test_streams_run_together_get_the_same_words_as_alone(policy: str) -> None:
    texts = [random.Random(seed).choices(WORDS, k=12) for seed in range(3)]
    alone = [run(with_policy(FreeChaos(), policy), text) for text in texts]
    backend = FreeChaos()
    streams = [with_policy(backend, policy) for _ in texts]

    def steps(stream: Stream, text: list[str]) -> Any:
        records: list[Record] = []
        for word in text:
            records += yield from stream.push_steps(word)
        return records + (yield from stream.flush_steps())

    assert run_together([steps(*one) for one in zip(streams, texts, strict=True)], backend) == alone
    assert max(backend.batches) == len(texts)


def size(stream: Stream) -> int:
    return len(json.dumps(stream.state()))


@pytest.mark.parametrize("backend", [FreeEcho, Endless, Mute])
def test_what_a_stream_remembers_is_bounded(backend: type[Fake]) -> None:
    """Also if the model never writes a separator, or never writes at all."""
    stream = free_stream(backend(), max_lag=20)
    words = speech(*[12] * 35) if backend is FreeEcho else random.Random(2).choices(PLAIN, k=420)
    sizes = []
    for number, word in enumerate(words):
        stream.push(word)
        if number % 10 == 0:
            sizes.append(size(stream))
    half = len(sizes) // 2
    assert max(sizes[half:]) <= 1.1 * max(sizes[:half])


def test_a_sentence_without_a_separator_is_cut_after_a_hundred_words() -> None:
    words = random.Random(2).choices(PLAIN, k=250)
    records = run(free_stream(Endless(), k=2), words)
    assert written(records) == words
    assert ends(records) == [(MOST_WORDS, MOST_WORDS, "forced")] * 2 + [(50, 50, "end")]
    assert [r.kind for r in records if isinstance(r, Note)] == ["no-separator"] * 2


def test_a_model_that_never_writes_is_made_to_and_the_trace_says_so() -> None:
    records = run(free_stream(Mute(), k=1, max_lag=9), PLAIN * 3)
    reasons = [record.reason for record in records if isinstance(record, Write)]
    assert set(reasons) == {"max-lag"}
    reads = [record.read for record in records if isinstance(record, Write)]
    assert reads == list(range(9, len(PLAIN) * 3 + 1))


class Stubborn(FreeEcho):
    """Echoes the first sentence, and then has nothing to say as long as it sees a history."""

    def logits(self, state: Any) -> Any:
        scores = super().logits(state)
        if sum(row.piece == 4 for row in state.rows):
            scores[:] = 0
            scores[3] = 9
        return scores


def test_after_five_waits_the_history_is_dropped() -> None:
    words = speech(4, 30)
    stream = free_stream(Stubborn(), k=1)
    records = [record for word in words[:4] for record in stream.push(word)]
    assert len(stream.history.source) == 0, "the separator waits for another word"
    for count, word in enumerate(words[4:], start=1):
        records += stream.push(word)
        dropped = [r for r in records if isinstance(r, Note) and r.kind == "history-dropped"]
        assert bool(dropped) == (count >= MOST_WAITS)
        if dropped:
            break
    assert stream.history.source == []
    assert written(records) == words[:4]
    assert written(stream.push(words[4 + count]))[:1] == [words[4]], "it goes on with the sentence as it is"


@pytest.mark.parametrize("k", [2, 30])
def test_a_pause_closes_all_that_was_read(k: int) -> None:
    words = speech(4, 6, 5)
    stream = free_stream(FreeEcho(), k=k)
    records = [record for word in words for record in stream.push(word)] + stream.push_pause()
    assert written(records) == words
    assert [source for source, *_ in ends(records)] == [4, 6, 5]
    assert ends(records)[-1][2] == "pause"
    more = speech(3, 3)
    assert written(run(stream, more)) == more


def test_new_settings_hold_from_the_next_sentence_on() -> None:
    stream = free_stream(FreeEcho(), k=1)
    stream.push("ka")
    stream.change(k=3)
    records = run(stream, ["mi", "ra", "no", "pu", "ra"])
    assert [r.read for r in records if isinstance(r, Write)] == [2, 3, 6, 6, 6]
    assert [r.detail for r in records if isinstance(r, Note)] == ["k 3"]


def test_a_tail_is_shown_and_decides_nothing() -> None:
    stream, plain = free_stream(FreeEcho()), free_stream(FreeEcho())
    partial = stream.push_partial("ka mi no pu")
    assert partial.records == []
    assert partial.tentative.source == ("ka", "mi", "no", "pu")
    words = speech(5, 5)
    assert run(stream, words) == run(plain, words)


def test_what_cannot_run_without_a_segmenter_is_refused() -> None:
    with pytest.raises(ModelError, match=r"^fake: segmentation 'free' needs a model that was trained"):
        Stream(fake_model(FreeEcho()), FreeSegmenter(), Settings())
    with pytest.raises(ConfigError, match=r"^policy whole waits for the end of the sentence"):
        with_policy(FreeEcho(), "whole")
    with pytest.raises(ConfigError, match="policy whole"):
        free_stream(FreeEcho()).change(policy="whole")
    with pytest.raises(ConfigError, match=r"^glossary is set, which segmentation 'free' cannot follow"):
        free_stream(FreeEcho()).change(glossary=parse_glossary("ka\tmi"))
    with pytest.raises(ConfigError, match=r"^recompute is True"):
        free_stream(FreeEcho(), recompute=True)
    with pytest.raises(InputError, match="none is loaded: give --reverse-model"):
        Stream(fake_model(FreeEcho(), free=True), FreeSegmenter("reverse"), Settings())


@pytest.mark.parametrize(("key", "value"), [("waits", -1), ("waits", True), ("ending", [1]), ("ending", "ka")])
def test_a_damaged_state_is_refused(key: str, value: Any) -> None:
    stream = free_stream(FreeEcho())
    stream.push("ka")
    state = stream.state()
    state["free"][key] = value
    with pytest.raises(InputError, match="damaged"):
        Stream.restore(stream.model, FreeSegmenter(), state)
