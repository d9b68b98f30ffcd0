"""The seam between the engine and its policies: what a policy decides, and what the engine keeps in any case."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fakes import Chaos, Echo, Fake, fake_model, run, subwords
from turia.engine.backend import Logits
from turia.engine.batcher import run_together
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import ConfigError, ModelError
from turia.policy.act import Act
from turia.policy.adaptive import Adaptive
from turia.policy.alignatt import AlignAtt
from turia.policy.base import CountingPolicy, Draft, LookingPolicy, Memory, Policy, Situation
from turia.policy.chunk import Chunk
from turia.policy.edatt import EDAtt
from turia.policy.holdn import HoldN
from turia.policy.lag import sentence_lag
from turia.policy.localagreement import LocalAgreement
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import End, Note, Record, SentenceEnd, Write, record_line

OLD = Path(__file__).parents[1] / "recorded" / "release-0.1"
SPEECH = ["ka", "leta", "miso", "no", "punde", "rata", "leso", "minde", "nota", "ka"]


# A policy of somebody's own: the whole of it is one class.
@dataclass(frozen=True)
class EveryOther(CountingPolicy):
    """Writes a word for every second word that it reads."""

    name: ClassVar[str] = "every-other"

    def may_write(self, at: Situation) -> bool:
        return at.written < at.read // 2


@dataclass(frozen=True)
class Silent(LookingPolicy):
    """Never keeps anything."""

    name: ClassVar[str] = "silent"

    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        return 0


@dataclass(frozen=True)
class Counting(LookingPolicy):
    """Keeps one word at every third draft, which it counts in its memory."""

    name: ClassVar[str] = "counting"

    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        memory["drafts"] = memory.get("drafts", 0) + 1
        return int(memory["drafts"] % 3 == 0)


def stream_of(backend: Fake, policy: Policy, lengths: list[int], encoder: str = "pbe", **chosen: Any) -> Stream:
    return Stream(fake_model(backend, encoder), GivenSegmenter(lengths), Settings(policy=policy, **chosen))


def reads(records: list[Record]) -> list[int]:
    return [record.read for record in records if isinstance(record, Write)]


def test_a_policy_of_ten_lines_decides_when_words_are_written() -> None:
    records = run(stream_of(Echo(), EveryOther(), [6]), SPEECH[:6])
    assert [record.word for record in records if isinstance(record, Write)] == SPEECH[:6]
    assert reads(records) == [2, 4, 6, 6, 6, 6]
    assert [record.reason for record in records if isinstance(record, Write)] == ["policy"] * 2 + ["catch-up"] * 4


def test_the_policy_of_the_page_keeps_what_the_model_is_sure_of() -> None:
    page = (Path(__file__).parents[2] / "docs/policies.md").read_text(encoding="utf-8")
    [_, program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {"__name__": __name__}
    exec(program, names)
    assert reads(run(stream_of(Echo(), names["Sure"](least=-1e9), [6]), SPEECH[:6])) == [1, 2, 3, 4, 5, 6]
    assert reads(run(stream_of(Echo(), names["Sure"](least=0.0), [6]), SPEECH[:6])) == [6] * 6


def test_whole_writes_when_the_sentence_is_closed() -> None:
    assert reads(run(stream_of(Echo(), Whole(), [3, 4]), SPEECH[:7])) == [3, 3, 3, 7, 7, 7, 7]


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("beam", [1, 3])
def test_hold_n_commits_all_but_the_last_n_words_of_a_draft(n: int, beam: int) -> None:
    records = run(stream_of(Echo(), HoldN(n), [6], beam=beam), SPEECH[:6])
    assert [record.word for record in records if isinstance(record, Write)] == SPEECH[:6]
    # A draft has as many words as were read; at the end of the sentence all are written.
    assert reads(records) == [min(word + n, 6) for word in range(1, 7)]


def test_a_policy_that_never_writes_falls_max_lag_words_behind_and_no_further() -> None:
    records = run(stream_of(Echo(), Silent(), [10], max_lag=4), SPEECH)
    assert reads(records) == [4, 5, 6, 7, 8, 9, 10, 10, 10, 10]
    reasons = [record.reason for record in records if isinstance(record, Write)]
    assert reasons == ["max-lag"] * 6 + ["catch-up"] * 4


class Wavering(Echo):
    """Another word at each of the first two words that it reads, then an echo."""

    def logits(self, state: Any) -> Logits:
        scores = super().logits(state)
        read = len(state.rows[-1].seen)
        if read < 4:
            scores[subwords().encode_word(SPEECH[-read])[0]] = 100.0
        return scores


def test_local_agreement_goes_on_behind_a_word_that_the_lag_forced() -> None:
    records = run(stream_of(Wavering(), LocalAgreement(2), [6], max_lag=3), SPEECH[:6])
    found = [(record.word, record.read, record.reason) for record in records if isinstance(record, Write)]
    # The drafts after 3 and 4 words agree on the second and the third.
    assert found == [
        ("ka", 3, "max-lag"),
        ("leta", 4, "policy"),
        ("miso", 4, "policy"),
        ("no", 5, "policy"),
        ("punde", 6, "catch-up"),
        ("rata", 6, "catch-up"),
    ]


def test_a_policy_s_memory_begins_empty_with_each_sentence_and_is_saved_in_between() -> None:
    records = run(stream_of(Echo(), Counting(), [5, 5]), SPEECH)
    assert reads(records) == [3, 5, 5, 5, 5, 8, 10, 10, 10, 10]


class Ending(Echo):
    """Ends its drafts as soon as it may."""

    def logits(self, state: Any) -> Logits:
        scores = super().logits(state)
        scores[subwords().pieces.index("<SEP>")] = 100.0
        return scores


@dataclass(frozen=True)
class Looks(LookingPolicy):
    """Keeps nothing, and remembers what it was shown."""

    found: list[Draft]
    name: ClassVar[str] = "looks"

    def keep(self, at: Situation, draft: Draft, memory: Memory) -> int:
        self.found.append(draft)
        return 0


def test_a_draft_may_end_while_the_sentence_does_not() -> None:
    found: list[Draft] = []
    stream = stream_of(Ending(), Looks(found), [3])
    assert stream.push("ka") == []
    assert stream.push("leta") == []
    assert [(draft.words, draft.complete) for draft in found] == [((), True)] * 2


def test_a_draft_word_has_the_probabilities_of_its_pieces() -> None:
    found: list[Draft] = []
    stream_of(Echo(), Looks(found), [3]).push("ka")
    (word,) = found[0].words
    assert word.text == "ka"
    assert word.pieces == subwords().encode_word("ka")
    assert word.first_log_probability < 0
    assert word.log_probability <= word.first_log_probability


ours = [
    HoldN(0),
    HoldN(2),
    LocalAgreement(2),
    LocalAgreement(3),
    AlignAtt(1),
    AlignAtt(3),
    EDAtt(0.5, 1),
    Adaptive(1, 3, 0.0, 0.01),
    Whole(),
    WaitK(2),
    Chunk(0.6, 1),
    Act(0.2, 0.1),
]
policies = st.sampled_from([*ours, Counting(), Silent(), EveryOther()])
speeches = st.lists(st.integers(1, 8), min_size=1, max_size=5).flatmap(
    lambda lengths: st.tuples(
        st.lists(st.sampled_from(SPEECH), min_size=sum(lengths), max_size=sum(lengths)), st.just(lengths)
    )
)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    speeches,
    st.sampled_from(ours),
    st.integers(1, 3),
    st.sampled_from(["pbe", "unidirectional", "bidirectional"]),
    st.booleans(),
    st.data(),
)
def test_restored_anywhere_every_policy_goes_on_with_the_same_words(
    speech: tuple[list[str], list[int]], policy: Policy, beam: int, encoder: str, recompute: bool, data: st.DataObject
) -> None:
    words, lengths = speech

    def begin() -> Stream:
        return stream_of(Chaos(), policy, lengths, encoder, beam=beam, max_lag=5, recompute=recompute)

    expected = run(begin(), words)
    stop = data.draw(st.integers(0, len(words)))
    stream = begin()
    before = [record for word in words[:stop] for record in stream.push(word)]
    state = json.loads(json.dumps(stream.state()))
    restored = Stream.restore(fake_model(Chaos(), encoder), GivenSegmenter(lengths), state)
    assert before + run(restored, words[stop:]) == expected


@pytest.mark.parametrize("encoder", ["pbe", "unidirectional", "bidirectional"])
def test_commits_between_which_nothing_was_encoded_are_told_apart_when_restored(encoder: str) -> None:
    """The word "–" normalises to nothing. It is read, and there is a draft after it, but no new position."""
    words = ["ka", "–", "leta", "–", "–", "miso"]
    expected = run(stream_of(Chaos(), HoldN(0), [6], encoder), words)
    assert reads(expected)[:2] == [1, 2]
    for stop in range(1, len(words)):
        stream = stream_of(Chaos(), HoldN(0), [6], encoder)
        before = [record for word in words[:stop] for record in stream.push(word)]
        state = json.loads(json.dumps(stream.state()))
        restored = Stream.restore(fake_model(Chaos(), encoder), GivenSegmenter([6]), state)
        assert before + run(restored, words[stop:]) == expected


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(speeches, min_size=2, max_size=4), st.lists(policies, min_size=4, max_size=4), st.integers(1, 3))
def test_together_streams_of_any_policies_get_what_they_get_alone(
    spoken: list[tuple[list[str], list[int]]], chosen: list[Policy], beam: int
) -> None:
    def begin(backend: Fake, number: int) -> Stream:
        return stream_of(backend, chosen[number], spoken[number][1], beam=beam)

    alone = [run(begin(Chaos(), number), words) for number, (words, _) in enumerate(spoken)]
    backend = Chaos()
    streams = [begin(backend, number) for number in range(len(spoken))]
    together: list[list[Record]] = [[] for _ in spoken]
    for turn in range(max(len(words) for words, _ in spoken)):
        active = [i for i, (words, _) in enumerate(spoken) if turn < len(words)]
        results = run_together([streams[i].push_steps(spoken[i][0][turn]) for i in active], backend)
        for i, records in zip(active, results, strict=True):
            together[i] += records
    for i, records in enumerate(run_together([stream.flush_steps() for stream in streams], backend)):
        together[i] += records
    assert together == alone


@pytest.mark.slow
@settings(max_examples=60)
@given(speeches, policies, st.integers(1, 3))
def test_whatever_the_policy_nothing_is_taken_back_and_all_is_written(
    speech: tuple[list[str], list[int]], policy: Policy, beam: int
) -> None:
    words, lengths = speech
    records = run(stream_of(Chaos(), policy, lengths, beam=beam), words)
    writes = [record for record in records if isinstance(record, Write)]
    assert [write.index for write in writes] == list(range(len(writes)))
    assert reads(records) == sorted(reads(records))
    assert len([record for record in records if isinstance(record, SentenceEnd)]) == len(lengths)
    assert isinstance(records[-1], End)
    assert all(write.read >= sum(lengths[: write.sentence]) + 1 for write in writes)


@pytest.mark.slow
@settings(max_examples=25)
@given(speeches, st.sampled_from([WaitK(3), HoldN(2), AlignAtt(2), Adaptive(1, 3)]), st.integers(1, 2), st.data())
def test_a_kept_lag_is_saved_with_the_stream_and_noted_in_the_trace(
    speech: tuple[list[str], list[int]], policy: Policy, target: int, data: st.DataObject
) -> None:
    words, lengths = speech[0] * 4, speech[1] * 4

    def begin() -> Stream:
        return stream_of(Chaos(), policy, lengths, target_lag=target)

    expected = run(begin(), words)
    stop = data.draw(st.integers(0, len(words)))
    stream = begin()
    before = [record for number, word in enumerate(words[:stop]) for record in stream.push(word, number / 3)]
    state = json.loads(json.dumps(stream.state()))
    restored = Stream.restore(fake_model(Chaos()), GivenSegmenter(lengths), state)
    assert before + run(restored, words[stop:]) == expected


def test_the_parameter_moves_between_sentences_until_the_lag_is_kept() -> None:
    lengths = [10] * 30
    stream = stream_of(Echo(), WaitK(1), lengths, target_lag="4")
    assert stream.header()["target_lag"] == "4"
    records = run(stream, SPEECH * 30)
    moves = [record.detail for record in records if isinstance(record, Note) and record.kind == "settings"]
    # The mean of the last minutes stays at 4, so it goes a little beyond and comes back.
    assert moves[0] == "k 4"
    lags = [
        sentence_lag([w.read - 10 * n for w in records if isinstance(w, Write) and w.sentence == n], 10)
        for n in range(30)
    ]
    assert lags[0] == 1
    assert abs(sum(lags) / 30 - 4) < 0.5


def test_a_policy_without_a_parameter_to_move_keeps_no_lag() -> None:
    with pytest.raises(ConfigError, match=r"policy whole has no parameter .*: wait-k, hold-n"):
        Settings(policy=Whole(), target_lag="5")


class Plain(Chaos):
    """Cannot be looked at, as model folders of release 0.1 cannot."""

    can_look = False


@settings(max_examples=30)
@given(speeches, st.sampled_from([HoldN(1), LocalAgreement(2), Adaptive(1, 3)]))
def test_a_draft_that_is_verified_is_the_one_that_is_decoded(
    speech: tuple[list[str], list[int]], policy: Policy
) -> None:
    words, lengths = speech
    assert run(stream_of(Chaos(), policy, lengths), words) == run(stream_of(Plain(), policy, lengths), words)


def test_a_draft_that_stays_costs_one_call() -> None:
    """Of a sentence of 10 words: an encoder call, one for the old draft, and one for each new piece, at each READ."""
    looking, decoding = Echo(), Echo()
    decoding.can_look = False
    for backend in (looking, decoding):
        run(stream_of(backend, HoldN(9), [10]), SPEECH)
    assert len(looking.batches) < len(decoding.batches) / 2


STOPPING = [AlignAtt(1), AlignAtt(3), EDAtt(0.5, 1), EDAtt(0.2, 2), Adaptive(1, 3), Adaptive(2, 6, 0.0, 0.9)]


def going_on(policy: LookingPolicy) -> LookingPolicy:
    """The same policy, which does not say that it stops."""
    kind = type(policy)
    found: LookingPolicy = type(f"{kind.__name__}GoingOn", (kind,), {"stops": False})(**policy.parameters())
    return found


@pytest.mark.slow
@settings(max_examples=40)
@given(speeches, st.sampled_from(STOPPING))
def test_a_draft_that_ends_where_the_policy_stops_gives_the_same_words(
    speech: tuple[list[str], list[int]], policy: LookingPolicy
) -> None:
    words, lengths = speech
    assert run(stream_of(Chaos(), policy, lengths), words) == run(stream_of(Chaos(), going_on(policy), lengths), words)


@pytest.mark.parametrize(("backend", "beam"), [(Chaos, 1), (Echo, 3)])
def test_a_draft_that_ends_where_the_policy_stops_costs_less(backend: type[Fake], beam: int) -> None:
    """Where drafts change, which chaos sees to, nothing is decoded that nobody looks at; where they stay, a beam does
    not search again what the policy would not keep."""
    calls = []
    for policy in (AlignAtt(6), going_on(AlignAtt(6))):
        fake = backend()
        run(stream_of(fake, policy, [10], beam=beam), SPEECH)
        calls.append(len(fake.batches))
    assert calls[0] < 0.8 * calls[1]


def test_a_policy_that_looks_at_attention_needs_a_model_that_gives_it() -> None:
    with pytest.raises(ModelError, match="policy alignatt looks at attention, which this model folder does not give"):
        stream_of(Plain(), AlignAtt(2), [3])


def test_a_layer_that_the_decoder_does_not_have_is_refused() -> None:
    model = replace(fake_model(Echo()), layers=3)
    with pytest.raises(ConfigError, match="policy alignatt: layer is 3, expected 0 to 2"):
        Stream(model, GivenSegmenter([3]), Settings(policy=AlignAtt(2, layer=3)))
    Stream(model, GivenSegmenter([3]), Settings(policy=AlignAtt(2, layer=-3)))


def test_a_beam_keeps_a_draft_that_the_model_still_prefers() -> None:
    """With a beam, too, what stays of a draft is not searched again but for its last pieces."""
    calls = []
    for lookahead in (1, 40):
        backend = Echo()
        run(stream_of(backend, HoldN(9), [10], beam=3, lookahead=lookahead), SPEECH)
        calls.append(len(backend.batches))
    assert calls[0] < 0.6 * calls[1]


def test_a_model_whose_masks_count_pieces_of_a_window_has_wait_k_alone() -> None:
    model = fake_model(Echo(), anchor="window")
    with pytest.raises(ModelError, match="policy hold-n needs masks that are anchored at the sentence"):
        Stream(model, GivenSegmenter([3]), Settings(policy=HoldN()))


@pytest.mark.parametrize("case", json.loads((OLD / "stream-states.json").read_text(encoding="utf-8")))
def test_a_stream_that_release_0_1_saved_goes_on_with_the_same_words(case: dict[str, Any]) -> None:
    stream = Stream.restore(fake_model(Chaos(), case["encoder"]), GivenSegmenter(case["lengths"], 1), case["state"])
    assert [record_line(record) for record in run(stream, case["words"])] == case["records"]
