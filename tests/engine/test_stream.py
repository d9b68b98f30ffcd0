"""The core of the engine, with models that a test can reason about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.delays import stream_delay
from tests.engine.fakes import (
    WORDS,
    Chaos,
    Echo,
    Recording,
    TargetSeen,
    fake_model,
    run,
    stream_of,
    written,
)
from tests.engine.speeches import spoken
from turia.engine.backend import DecodeRequest, Logits
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import InputError
from turia.segmenter.online import GivenSegmenter
from turia.stream.sentences import offsets
from turia.stream.trace import End, Note, Record, SentenceEnd, Trace, Write, parse_trace, trace_lines
from turia.text.symbols import BRK_ID, END_ID


def test_an_echo_writes_what_was_said_k_words_behind() -> None:
    words = ["ka", "le", "mi", "no", "pu"]
    stream = stream_of(Echo(), [5], k=2)
    heard = [written(stream.push(word)) for word in words]
    assert heard == [[], ["ka"], ["le"], ["mi"], ["no", "pu"]]
    assert stream.flush() == [End(5, 5)]


def test_the_rest_of_a_sentence_is_written_when_it_is_closed() -> None:
    stream = stream_of(Echo(), [3, 2], k=9)
    assert stream.push("ka") == stream.push("le") == []
    events = stream.push("mi")
    assert [event.text for event in events] == ["ka", "le", "mi", "\n"]
    assert events[-1] == SentenceEnd(0, 3, 3, "given")
    assert {event.reason for event in events[:-1] if isinstance(event, Write)} == {"catch-up"}
    stream.push("no")
    flushed = stream.push("pu") + stream.flush()
    assert written(flushed) == ["no", "pu"]


def test_what_the_end_of_the_stream_lets_out_is_said_to_be_flushed() -> None:
    stream = stream_of(Echo(), [9], k=9)
    assert stream.push("ka") + stream.push("le") == []
    assert stream.flush() == [
        Write("ka", 0, 2, 0, "flush"),
        Write("le", 1, 2, 0, "flush"),
        SentenceEnd(0, 2, 2, "end"),
        End(2, 2),
    ]


@settings(deadline=None, max_examples=60)
@given(
    speech=spoken(),
    k=st.integers(1, 5),
    gamma=st.sampled_from([0.8, 1.0, 1.24, 2.0]),
    window=st.integers(0, 4),
    rounding=st.sampled_from(["floor", "ceil"]),
)
def test_delays_are_those_of_the_method(
    speech: tuple[list[str], list[int]], k: int, gamma: float, window: int, rounding: str
) -> None:
    words, lengths = speech
    stream = stream_of(Chaos(), lengths, window, k=k, gamma=gamma, rounding=rounding)
    records = run(stream, words)
    starts, numbers = offsets(lengths), dict[int, int]()
    for record in records:
        if isinstance(record, Write):
            t = numbers[record.sentence] = numbers.get(record.sentence, 0) + 1
            expected = stream_delay(
                t,
                k,
                starts[record.sentence],
                lengths[record.sentence],
                len(words),
                gamma,
                window,
                rounding,  # type: ignore[arg-type]
            )
            # Nothing is written before the first word of which normalisation leaves something (decision 011).
            begin = starts[record.sentence]
            heard = next(n for n in range(begin, begin + lengths[record.sentence]) if words[n] != "–")
            expected = max(expected, min(heard + 1 + window, len(words)))
            if record.reason == "policy":
                assert record.read == expected
            else:
                assert record.read <= expected
    delays = [record.read for record in records if isinstance(record, Write)]
    assert delays == sorted(delays)
    assert max(delays, default=0) <= len(words)


@settings(deadline=None, max_examples=40)
@given(speech=spoken(), k=st.integers(1, 4), data=st.data())
def test_any_chunking_gives_the_same_events(speech: tuple[list[str], list[int]], k: int, data: st.DataObject) -> None:
    words, lengths = speech
    expected = run(stream_of(Chaos(), lengths, k=k), words)
    stream, records, begin = stream_of(Chaos(), lengths, k=k), list[Record](), 0
    while begin < len(words):
        size = data.draw(st.integers(1, 5))
        records += stream.push("  ".join(words[begin : begin + size]))
        begin += size
    assert records + stream.flush() == expected


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    speech=spoken(),
    chosen=st.sampled_from(
        [
            {},
            {"encoding": "full"},
            {"recompute": True},
            {"beam": 2, "lookahead": 3},
            {"history": 0},
        ]
    ),
    encoder=st.sampled_from(["pbe", "unidirectional", "bidirectional"]),
    anchor=st.sampled_from(["sentence", "window"]),
    data=st.data(),
)
def test_a_restored_stream_goes_on_with_the_same_words(
    speech: tuple[list[str], list[int]], chosen: dict[str, Any], encoder: str, anchor: str, data: st.DataObject
) -> None:
    words, lengths = speech

    def begin() -> Stream:
        return Stream(fake_model(Chaos(), encoder, anchor), GivenSegmenter(lengths, 1), Settings(**({"k": 2} | chosen)))

    expected = run(begin(), words)
    stop = data.draw(st.integers(0, len(words)))
    stream = begin()
    before = [record for word in words[:stop] for record in stream.push(word)]
    state = json.loads(json.dumps(stream.state()))
    restored = Stream.restore(fake_model(Chaos(), encoder, anchor), GivenSegmenter(lengths, 1), state)
    assert before + run(restored, words[stop:]) == expected


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("chosen", [{}, {"encoding": "full"}, {"beam": 2}, {"recompute": True}])
def test_a_stream_restored_before_its_sentence_is_closed_late(k: int, chosen: dict[str, Any]) -> None:
    """The sentence ends after its last word was translated: the encoder must not have seen that in advance."""
    words = ["ka", "leta", "miso", "no", "pu"][: 2 + k]

    def halfway() -> Stream:
        stream = stream_of(Chaos(), [2, 99], k=k, **chosen)
        for word in words:
            stream.push(word)
        return stream

    expected = halfway().flush()
    state = json.loads(json.dumps(halfway().state()))
    assert Stream.restore(fake_model(Chaos()), GivenSegmenter([2, 99]), state).flush() == expected


def test_settings_change_from_the_next_sentence_on() -> None:
    stream = stream_of(Echo(), [4, 4], k=1)
    first = stream.push("ka")
    stream.change(k=3)
    rest = [written(stream.push(word)) for word in ("le", "mi", "no", "pu", "ra", "ka", "le")]
    assert written(first) == ["ka"]
    assert rest == [["le"], ["mi"], ["no"], [], [], ["pu"], ["ra", "ka", "le"]]


def settings_notes(records: Sequence[Record]) -> list[tuple[int, str]]:
    return [(note.sentence, note.detail) for note in records if isinstance(note, Note) and note.kind == "settings"]


def test_a_trace_tells_from_which_sentence_on_settings_hold() -> None:
    stream = stream_of(Echo(), [3, 3, 3, 3], k=1)
    records = stream.push("ka")
    stream.change(k=3)
    stream.change(gamma=2.0)
    records += stream.push("le mi")
    assert settings_notes(records) == []
    records += stream.push("no")
    assert settings_notes(records) == [(1, "k 3, gamma 2.0")]
    records += stream.push("pu ra")
    stream.change(k=2)  # between two sentences
    stream.change(k=4)
    records += stream.push("ka le mi")
    stream.change(k=4)  # nothing new
    records += stream.push("no pu ra") + stream.flush()
    assert settings_notes(records) == [(1, "k 3, gamma 2.0"), (2, "k 4")]
    kinds = [type(record) for record in records if not isinstance(record, Write)]
    assert kinds == [SentenceEnd, Note, SentenceEnd, Note, SentenceEnd, SentenceEnd, End]
    assert parse_trace(trace_lines(Trace(stream.header(), tuple(records)))).records == tuple(records)


def test_a_trace_tells_the_gamma_of_a_policy() -> None:
    stream = stream_of(Echo(), [1, 1, 1], k=4)
    records = stream.push("ka")
    stream.change(policy="wait-k:k=4,gamma=0.5")
    records += stream.push("le")
    stream.change(policy="wait-k:k=4")
    records += stream.push("mi")
    assert settings_notes(records) == [(1, "policy wait-k:k=4,gamma=0.5,rounding=floor"), (2, "k 4, rounding floor")]


def test_settings_changed_before_the_first_word_are_those_of_the_header() -> None:
    stream = stream_of(Echo(), [3], k=1)
    stream.change(k=2)
    assert stream.header()["k"] == 2
    # Whoever wrote the header before the change reads it here.
    assert stream.push("ka") == [Note("settings", 0, "k 2")]
    assert written(stream.push("le")) == ["ka"]


def test_settings_that_no_sentence_has_leave_no_note() -> None:
    stream = stream_of(Echo(), [2], k=1)
    stream.push("ka")
    stream.change(k=3)
    assert settings_notes(stream.push("le") + stream.flush()) == []


def test_a_restored_stream_has_the_settings_that_it_was_going_to_have() -> None:
    stream = stream_of(Echo(), [4, 4], k=1)
    stream.push("ka")
    stream.change(k=3)
    restored = Stream.restore(fake_model(Echo()), GivenSegmenter([4, 4]), json.loads(json.dumps(stream.state())))
    rest = [written(restored.push(word)) for word in ("le", "mi", "no", "pu", "ra", "ka", "le")]
    assert rest == [["le"], ["mi"], ["no"], [], [], ["pu"], ["ra", "ka", "le"]]


def test_nothing_is_pushed_after_the_end() -> None:
    stream = stream_of(Echo(), [1])
    stream.push("ka")
    stream.flush()
    with pytest.raises(InputError, match="ended"):
        stream.push("le")


class Failing(Echo):
    """Fails, or is interrupted, at its n-th call."""

    def __init__(self, error: BaseException, call: int) -> None:
        super().__init__()
        self.error, self.call = error, call

    def decode(self, requests: Sequence[DecodeRequest]) -> list[tuple[TargetSeen, Logits]]:
        if len(self.batches) == self.call:
            raise self.error
        return super().decode(requests)


@pytest.mark.parametrize("error", [RuntimeError(), KeyboardInterrupt()])
@pytest.mark.parametrize("call", [3, 5])
def test_a_stream_that_broke_off_says_so_instead_of_going_on(error: BaseException, call: int) -> None:
    stream = stream_of(Failing(error, call), [9], k=1)
    stream.push("ka")
    with pytest.raises(type(error)):  # at the first piece of a word, or at its third
        stream.push("xyz")
    for use in (lambda: stream.push("le"), stream.push_pause, stream.flush, stream.state):
        with pytest.raises(InputError, match="broke off"):
            use()


def test_a_stream_that_broke_off_at_its_end_is_not_said_to_have_ended() -> None:
    stream = stream_of(Failing(RuntimeError(), 1), [9], k=9)
    stream.push("ka")
    with pytest.raises(RuntimeError):
        stream.flush()
    with pytest.raises(InputError, match="broke off"):
        stream.flush()


def test_what_is_refused_beforehand_does_no_harm() -> None:
    stream = stream_of(Echo(), [1], k=1)
    stream.push("ka")
    stream.flush()
    for _ in range(2):
        with pytest.raises(InputError, match="ended"):
            stream.push("le")
    assert stream.state()["ended"]


@pytest.mark.parametrize("window", [0, 1])
def test_words_beyond_the_given_sentences_are_refused_before_any_is_taken(window: int) -> None:
    stream = stream_of(Echo(), [2], window, k=1)
    with pytest.raises(InputError, match="more words than the 2"):
        stream.push("ka le mi")
    assert stream.read == 0
    assert written(stream.push("ka le") + stream.flush()) == ["ka", "le"]


def test_a_pause_closes_the_sentence() -> None:
    stream = stream_of(Echo(), [9, 9], 2, k=4)
    stream.push("ka")
    stream.push("le")
    events = stream.push_pause()
    assert written(events) == ["ka", "le"]
    assert events[-1] == SentenceEnd(0, 2, 2, "pause")


def test_a_full_unidirectional_encoder_sees_what_an_incremental_one_does() -> None:
    words = ["ka", "leta", "xyz", "no", "pu", "miso"]
    expected, found = (
        run(Stream(fake_model(Chaos(), "unidirectional"), GivenSegmenter([4, 2]), Settings(k=2, encoding=way)), words)
        for way in ("incremental", "full")
    )
    assert found == expected
    assert len(written(found)) > 0


@pytest.mark.parametrize("lengths", [[2, 9], [2, 2]])
def test_the_source_is_closed_by_the_end_of_the_stream_or_by_that_of_a_sentence(lengths: list[int]) -> None:
    """Whether the stream breaks off, or its last word is known to be the last."""
    backend = Recording()
    run(stream_of(backend, lengths, k=9), ["ka", "le", "mi", "no"])
    assert [request.ids.tolist()[-1] for request in backend.encoded] == [BRK_ID, END_ID]


def test_long_sentences_are_cut_before_the_model_is_full() -> None:
    model = fake_model(Echo(), max_positions=64)
    stream = Stream(model, GivenSegmenter([100]), Settings(k=3))
    records = run(stream, ["kanolemi"] * 100)
    assert any(isinstance(record, Note) and record.kind == "long-sentence" for record in records)
    assert stream.read == 100


@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream() -> None:
    stream = stream_of(Echo(), [10] * 300, k=3)
    sizes = []
    for number in range(3000):
        stream.push(WORDS[number % len(WORDS)])
        if number % 1000 == 999:
            sizes.append(len(json.dumps(stream.state())))
    assert max(sizes) < 1.1 * min(sizes)
