"""The recogniser's unstable tail: it decides when words are written, never which (decision 026)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fakes import Coin, Echo, Fake, fake_model
from turia.engine.backend import Steps, run_steps
from turia.engine.batcher import run_together
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.tail import LONGEST_TAIL, OwedWord, Tentative
from turia.errors import InputError
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
from turia.runtime.home import packaged_models
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import End, Record, SentenceEnd, Write

SPEECH = ["ka", "leta", "miso", "no", "punde", "rata", "leso", "minde", "nota", "–"]
POLICIES = [
    WaitK(1), WaitK(3), WaitK(5), Whole(), HoldN(0), HoldN(2), LocalAgreement(2), LocalAgreement(3), AlignAtt(1),
    AlignAtt(2), EDAtt(0.5, 1), Adaptive(1, 3, 0.0, 0.01), Chunk(0.5, 1), Act(0.2, 0.1),
]  # fmt: skip
policies = st.sampled_from(POLICIES)
encoders = st.sampled_from(["pbe", "unidirectional", "bidirectional"])
words = st.sampled_from(SPEECH)
tails = st.lists(words, max_size=5)
pauses = st.sampled_from([False, False, False, True])
Heard = list[tuple[str, list[str]]]
"""Each final word, and the tail that the recogniser shows behind it."""


@st.composite
def speeches(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    """Words, and the lengths of their sentences."""
    lengths = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    return draw(st.lists(words, min_size=sum(lengths), max_size=sum(lengths))), lengths


def stream_of(
    backend: Fake, lengths: Sequence[int], policy: Policy, window: int = 0, encoder: str = "pbe", **chosen: Any
) -> Stream:
    model = fake_model(backend, encoder)
    return Stream(model, GivenSegmenter(lengths, window), Settings(policy=policy, max_lag=6, **chosen))


def alone(stream: Stream, spoken: Sequence[str]) -> list[Record]:
    return [record for word in spoken for record in stream.push(word)] + stream.flush()


def with_tails(stream: Stream, steps: Heard) -> list[Record]:
    records: list[Record] = []
    for word, tail in steps:
        records += stream.push(word)
        # It comes word by word, and then is taken back.
        for heard in range(1, len(tail) + 1):
            records += stream.push_partial(" ".join(tail[:heard])).records
        records += stream.push_partial(" ".join(tail[:1])).records
    return records + stream.flush()


def writes(records: Sequence[Record]) -> list[Write]:
    return [record for record in records if isinstance(record, Write)]


def ends(records: Sequence[Record]) -> list[tuple[int, int, str]]:
    return [(end.sentence, end.source_words, end.reason) for end in records if isinstance(end, SentenceEnd)]


def let_out(stream: Stream, reasons: Sequence[str]) -> list[Record]:
    """As many words ahead of their time as there are reasons: those that the final words give, whatever the tail."""

    def ahead() -> Steps[list[OwedWord]]:
        ready = yield from stream.fork().read_final()
        assert ready is not None or not reasons
        found = []
        for _ in reasons:
            assert ready is not None
            word = yield from ready[0].write_word()
            assert word is not None
            target = ready[0].target
            found.append(OwedWord(word, tuple(target.ids[-target.pieces[-1] :])))
        return found

    return stream.commit_ahead(run_steps(ahead(), stream.model.backend), reasons)


def check_sound(records: Sequence[Record], source_words: int) -> None:
    """Nothing is taken back, nothing is written twice, and the counts are those of the words."""
    found = writes(records)
    assert [write.index for write in found] == list(range(len(found)))
    assert [write.read for write in found] == sorted(write.read for write in found)
    for end in (record for record in records if isinstance(record, SentenceEnd)):
        assert end.target_words == sum(write.sentence == end.sentence for write in found)
    assert records[-1] == End(source_words, len(found))


# --- by example -------------------------------------------------------------------------------------------------------


def test_a_tail_lets_a_word_out_before_its_time_and_shows_the_rest_in_grey() -> None:
    stream = stream_of(Echo(), [6], WaitK(3))
    assert stream.push("ka leta") == []
    partial = stream.push_partial("miso no")
    # With the tail read, wait-3 has two words; the final words alone give both of them too.
    assert partial.records == [Write("ka", 0, 2, 0, "policy"), Write("leta", 1, 2, 0, "policy")]
    assert partial.tentative == Tentative(("miso", "no"), ())
    assert stream.push_partial("miso no punde").tentative == Tentative(("miso", "no", "punde"), ("miso",))
    assert stream.push("miso") == []
    assert stream.push("no") == []
    assert stream.push("punde") == [Write("miso", 2, 5, 0, "policy")]


def test_a_word_of_which_only_the_tail_speaks_is_not_committed() -> None:
    """The final words give "ka" once more, as the echo has heard nothing else; the tail gives what it has."""
    stream = stream_of(Echo(), [6], WaitK(1))
    assert [write.word for write in writes(stream.push("ka"))] == ["ka"]
    partial = stream.push_partial("leta miso")
    assert partial.records == []
    assert partial.tentative == Tentative(("leta", "miso"), ("leta", "miso"))


def test_words_that_the_segmenter_holds_back_are_final_too() -> None:
    stream = stream_of(Echo(), [6], WaitK(1), window=2)
    assert stream.push("ka leta") == []
    assert writes(stream.push_partial("miso no").records) == [
        Write("ka", 0, 2, 0, "policy"),
        Write("leta", 1, 2, 0, "policy"),
    ]


def test_a_revised_tail_leaves_nothing_behind() -> None:
    stream = stream_of(Echo(), [9], WaitK(4), window=1)
    stream.push("ka leta")
    before = json.dumps(stream.state())
    for tail in ("rata", "rata leso", "minde", "", "no punde"):
        assert stream.push_partial(tail).records == []
        assert json.dumps(stream.state()) == before


def test_what_went_out_stays_where_the_final_words_would_have_given_another_word() -> None:
    class Second(Echo):
        """Says "no" for a sentence in which it has seen "minde", else what the echo says."""

        def logits(self, state: Any) -> Any:
            scores = super().logits(state)
            if PIECE["minde"] in [column[0] for column in state.rows[-1].seen]:
                # Less than what ends a sentence.
                scores[PIECE["no"]] = 2.5
            return scores

    stream = stream_of(Second(), [4], WaitK(2))
    stream.push("ka")
    assert [write.word for write in writes(stream.push_partial("leta").records)] == ["ka"]
    # It was not "leta". Alone, these words give "no" four times.
    records = [record for word in ("minde", "miso", "rata") for record in stream.push(word)]
    assert [(write.index, write.word) for write in writes(records)] == [(1, "no"), (2, "no"), (3, "no")]
    assert ends(records) == [(0, 4, "end")]


PIECE = {word: fake_model(Echo()).source_subwords.encode_word(word)[0] for word in ("minde", "no")}


def test_a_tail_beyond_the_given_sentences_is_left_alone() -> None:
    stream = stream_of(Echo(), [2], WaitK(2))
    stream.push("ka")
    partial = stream.push_partial("leta miso no")
    assert [write.word for write in writes(partial.records)] == ["ka"]
    assert [write.word for write in writes(stream.push("leta"))] == ["leta"]


def test_a_tail_has_its_limits() -> None:
    stream = stream_of(Echo(), [200], WaitK(100))
    stream.push("ka")
    assert len(stream.push_partial("ka " * 100).tentative.source) == LONGEST_TAIL
    assert stream.push_partial("").tentative == Tentative()
    with pytest.raises(InputError, match="a word is a str, not int"):
        stream.push_partial(3)  # type: ignore[arg-type]
    stream.flush()
    with pytest.raises(InputError, match="the stream has ended"):
        stream.push_partial("ka")


@pytest.mark.parametrize("target", ["2", "4s"])
def test_a_lag_is_kept_by_the_times_of_the_final_words(target: str) -> None:
    """A tail has no times. Where it turns out right, the controller knows what it would know without it."""
    lengths, spoken = [5] * 8, SPEECH[:5] * 8
    stream, without = (stream_of(Echo(), lengths, WaitK(4), target_lag=target) for _ in range(2))
    for at, word in enumerate(spoken):
        stream.push(word, 2.0 * at)
        without.push(word, 2.0 * at)
        assert stream.lag == without.lag
        assert stream.settings == without.settings
        stream.push_partial(" ".join(spoken[at + 1 : at + 4]))
    # The words came slowly.
    assert stream.lag.pace() == 0.5
    assert stream.settings.policy == without.settings.policy != WaitK(4)


@pytest.mark.parametrize("owed", [[["ka", []]], [["a b", [9]]], [["ka", ["x"]]], [["ka", [10**6]]], [3], "abc", None])
def test_a_damaged_list_of_words_that_went_out_is_refused(owed: Any) -> None:
    state = stream_of(Echo(), [3], WaitK(1)).state()
    with pytest.raises(InputError, match="stream state is damaged"):
        Stream.restore(fake_model(Echo()), GivenSegmenter([3]), state | {"owed": owed})


# --- what always holds ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(speeches(), policies, st.integers(1, 3), st.integers(0, 2), encoders, st.booleans(), st.data())
def test_a_tail_that_is_right_gives_what_the_final_words_alone_give_only_earlier(
    speech: tuple[list[str], list[int]],
    policy: Policy,
    beam: int,
    window: int,
    encoder: str,
    recompute: bool,
    data: st.DataObject,
) -> None:
    spoken, lengths = speech

    def begin() -> Stream:
        return stream_of(Coin(), lengths, policy, window, encoder, beam=beam, recompute=recompute)

    expected = alone(begin(), spoken)
    steps = [(word, spoken[at : at + data.draw(st.integers(0, 5))]) for at, word in enumerate(spoken, start=1)]
    found = with_tails(begin(), steps)
    check_sound(found, len(spoken))
    assert ends(found) == ends(expected)
    assert [replace(write, read=0) for write in writes(found)] == [replace(write, read=0) for write in writes(expected)]
    assert all(early.read <= late.read for early, late in zip(writes(found), writes(expected), strict=True))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(speeches(), policies, st.integers(1, 3), st.integers(0, 2), encoders, st.data())
def test_whatever_the_revisions_words_are_those_that_the_final_words_give_at_that_moment(
    speech: tuple[list[str], list[int]], policy: Policy, beam: int, window: int, encoder: str, data: st.DataObject
) -> None:
    """A second stream is never shown a tail, only told how many words to let out and when: it gives the same words. A
    third one has nothing but the final words, and the same sentences."""
    spoken, lengths = speech
    stream, blind, final = (stream_of(Coin(), lengths, policy, window, encoder, beam=beam) for _ in range(3))
    found, without, unseen = list[Record](), list[Record](), list[Record]()
    for word in spoken:
        found += stream.push(word)
        without += blind.push(word)
        unseen += final.push(word)
        new = stream.push_partial(" ".join(data.draw(tails))).records
        found += new
        without += let_out(blind, [write.reason for write in writes(new)])
        assert json.dumps(stream.state()) == json.dumps(blind.state())
        # What went out is what the stream goes on from.
        shown = [write.word for write in writes(found) if write.sentence == stream.sentence]
        assert shown == [*stream.current.words, *(owed.text for owed in stream.current.owed)]
        if data.draw(pauses):
            found += stream.push_pause()
            without += blind.push_pause()
            unseen += final.push_pause()
    found, without, unseen = found + stream.flush(), without + blind.flush(), unseen + final.flush()
    assert found == without
    check_sound(found, len(spoken))
    assert ends(found) == ends(unseen)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(speeches(), policies, st.integers(1, 3), st.integers(0, 2), st.data())
def test_where_more_source_changes_no_word_no_revision_does(
    speech: tuple[list[str], list[int]], policy: Policy, beam: int, window: int, data: st.DataObject
) -> None:
    spoken, lengths = ["ka" if word == "–" else word for word in speech[0]], speech[1]
    expected = alone(stream_of(Echo(), lengths, policy, window, beam=beam), spoken)
    steps = [(word, data.draw(tails)) for word in spoken]
    found = with_tails(stream_of(Echo(), lengths, policy, window, beam=beam), steps)
    assert [write.word for write in writes(found)] == [write.word for write in writes(expected)]
    assert all(early.read <= late.read for early, late in zip(writes(found), writes(expected), strict=True))
    assert ends(found) == ends(expected)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(speeches(), policies, st.integers(1, 3), st.integers(0, 2), encoders, st.data())
def test_restored_anywhere_a_stream_with_tails_goes_on_with_the_same_words(
    speech: tuple[list[str], list[int]], policy: Policy, beam: int, window: int, encoder: str, data: st.DataObject
) -> None:
    spoken, lengths = speech
    steps = [(word, data.draw(tails)) for word in spoken]

    def begin() -> Stream:
        return stream_of(Coin(), lengths, policy, window, encoder, beam=beam)

    expected = with_tails(begin(), steps)
    stop = data.draw(st.integers(0, len(steps)))
    stream = begin()
    before: list[Record] = []
    for word, tail in steps[:stop]:
        before += stream.push(word)
        for heard in range(1, len(tail) + 1):
            before += stream.push_partial(" ".join(tail[:heard])).records
        before += stream.push_partial(" ".join(tail[:1])).records
    state = json.loads(json.dumps(stream.state()))
    restored = Stream.restore(fake_model(Coin(), encoder), GivenSegmenter(lengths, window), state)
    assert before + with_tails(restored, steps[stop:]) == expected


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.lists(words, min_size=6, max_size=6), policies, tails), min_size=2, max_size=4))
def test_together_streams_with_tails_get_what_they_get_alone(chosen: list[tuple[list[str], Policy, list[str]]]) -> None:
    def begin(backend: Fake, policy: Policy) -> Stream:
        return stream_of(backend, [6], policy, window=1)

    expected = [with_tails(begin(Coin(), policy), [(word, tail) for word in spoken]) for spoken, policy, tail in chosen]
    backend = Coin()
    streams = [begin(backend, policy) for _, policy, _ in chosen]
    found: list[list[Record]] = [[] for _ in chosen]
    for turn in range(6):
        pushes = [stream.push_steps(spoken[turn]) for stream, (spoken, _, _) in zip(streams, chosen, strict=True)]
        for records, new in zip(found, run_together(pushes, backend), strict=True):
            records += new
        for heard in range(1, 6):
            partials = [
                stream.partial_steps(" ".join(tail[:heard]))
                for stream, (_, _, tail) in zip(streams, chosen, strict=True)
            ]
            for records, partial in zip(found, run_together(partials, backend), strict=True):
                records += partial.records
        partials = [
            stream.partial_steps(" ".join(tail[:1])) for stream, (_, _, tail) in zip(streams, chosen, strict=True)
        ]
        for records, partial in zip(found, run_together(partials, backend), strict=True):
            records += partial.records
    for records, new in zip(found, run_together([stream.flush_steps() for stream in streams], backend), strict=True):
        records += new
    assert found == expected


GERMAN = "meine damen und herren ich danke ihnen für ihre aufmerksamkeit wir müssen heute über den haushalt sprechen"


@pytest.mark.slow
@pytest.mark.skipif("de-en" not in packaged_models(), reason="the model is not in this package")
@pytest.mark.parametrize(("policy", "beam"), [("wait-k:k=4", 1), ("wait-k:k=3", 3), ("local-agreement", 1)])
def test_the_shipped_model_gives_the_same_words_earlier(policy: str, beam: int) -> None:
    translator = Translator.load("de-en")
    spoken = GERMAN.split()
    late = alone(translator.stream(policy=policy, beam=beam), spoken)
    steps = [(word, spoken[at : at + 3]) for at, word in enumerate(spoken, start=1)]
    early = with_tails(translator.stream(policy=policy, beam=beam), steps)
    assert [write.word for write in writes(early)] == [write.word for write in writes(late)]
    assert ends(early) == ends(late)
    won = [b.read - a.read for a, b in zip(writes(early), writes(late), strict=True)]
    assert min(won) >= 0
    assert max(won) >= 2


@pytest.mark.slow
@pytest.mark.skipif("de-en" not in packaged_models(), reason="the model is not in this package")
def test_with_the_shipped_model_a_tail_that_is_wrong_says_nothing_of_which_word() -> None:
    translator = Translator.load("de-en")
    spoken = GERMAN.split()
    stream, blind = (translator.stream(policy="wait-k:k=4", beam=1) for _ in range(2))
    for number, word in enumerate(spoken):
        assert stream.push(word) == blind.push(word)
        new = stream.push_partial(" ".join(reversed(spoken[number : number + 3]))).records
        assert let_out(blind, [write.reason for write in writes(new)]) == new
    assert stream.flush() == blind.flush()
