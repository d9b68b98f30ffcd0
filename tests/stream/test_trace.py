"""Traces: they round-trip, and what a correct engine cannot have written is refused with its line."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.errors import FormatError
from turia.stream.trace import (
    REASONS,
    End,
    Note,
    Record,
    SentenceEnd,
    Trace,
    Write,
    header_line,
    parse_trace,
    record_line,
    trace_lines,
    words_by_sentence,
)

HEADER = '{"type":"stream","version":1,"k":4}'
LADIES = '{"type":"write","word":"Ladies","index":0,"read":5,"sentence":0,"reason":"policy","ms":812.4}'
CLOSED = '{"type":"sentence","sentence":0,"source_words":17,"target_words":1,"reason":"segmenter"}'
LAST = '{"type":"end","source_words":17,"target_words":1}'


def test_the_lines_of_the_documentation_are_what_is_read_and_written() -> None:
    lines = [HEADER, LADIES, CLOSED, LAST]
    trace = parse_trace(lines)
    assert trace.settings == {"k": 4}
    assert trace.records == (
        Write("Ladies", index=0, read=5, sentence=0, reason="policy", ms=812.4),
        SentenceEnd(sentence=0, source_words=17, target_words=1, reason="segmenter"),
        End(source_words=17, target_words=1),
    )
    assert list(trace_lines(trace)) == lines
    assert (trace.words(), trace.delays(), trace.source_words()) == (["Ladies"], [5], 17)


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", ["examples/speech/trace.jsonl", "tests/recorded/release-0.1/trace.jsonl"])
def test_traces_of_release_0_1_are_read_and_written_to_the_letter(path: str) -> None:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    assert list(trace_lines(parse_trace(lines))) == lines


def test_a_time_that_is_not_known_is_left_out() -> None:
    assert "ms" not in json.loads(record_line(Write("a", 0, 1, 0, "policy")))


def test_a_trace_that_was_cut_off_has_read_what_its_last_word_had() -> None:
    assert parse_trace([HEADER, LADIES]).source_words() == 5
    assert parse_trace([HEADER]).source_words() == 0


def test_keys_of_later_releases_are_passed_over() -> None:
    later = LADIES.replace('"ms":812.4', '"ms":812.4,"seconds":2.5')
    assert parse_trace([HEADER, later]).records == parse_trace([HEADER, LADIES]).records


def test_blank_lines_do_not_shift_the_line_numbers() -> None:
    with pytest.raises(FormatError, match=r"^t:4: not JSON"):
        parse_trace([HEADER, "\n", LADIES, "{"], path="t")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], 't: empty trace: expected a first line with "type":"stream"'),
        ([LADIES], 't:1: a trace begins with a line of "type":"stream"'),
        (['{"type":"stream","version":2}'], "t:1: trace version 2; this Turia reads 1"),
        (['{"type":"stream","version":true}'], "t:1: trace version True; this Turia reads 1"),
        (['{"type":"stream","version":1.0}'], "t:1: trace version 1.0; this Turia reads 1"),
        (['{"type":"stream"}'], "t:1: trace version None; this Turia reads 1"),
        ([HEADER, "[1]"], "t:2: expected a JSON object"),
        ([HEADER, "W R W"], "t:2: not JSON: Expecting value at column 1"),
        ([HEADER, LADIES.replace("812.4", "NaN")], "t:2: not JSON: NaN is not a JSON number"),
        ([HEADER, LADIES.replace("812.4", "1e999")], "t:2: not JSON: 1e999 is too large for a number"),
        ([HEADER.replace("4", "-1e999")], "t:1: not JSON: -1e999 is too large for a number"),
        ([HEADER, LADIES.replace("812.4", f"{10**400}")], f"t:2: ms is {str(10**400)[:100]}…, expected a number"),
        (
            [HEADER.replace("4", '"\\ud800"')],
            "t:1: not JSON: 'utf-8' codec can't encode character '\\ud800' in position 34: surrogates not allowed",
        ),
        ([HEADER, HEADER], "t:2: type is 'stream', expected one of 'write', 'sentence', 'note', 'end'"),
        (
            [HEADER, '{"type":["write"]}'],
            "t:2: type is ['write'], expected one of 'write', 'sentence', 'note', 'end'",
        ),
        ([HEADER, LADIES.replace('"read":5,', "")], "t:2: missing key 'read'"),
        ([HEADER, LADIES.replace(":5", ":5.0")], "t:2: read is 5.0, expected a whole number from 0"),
        ([HEADER, LADIES.replace(":5", ":-1")], "t:2: read is -1, expected a whole number from 0"),
        ([HEADER, LADIES.replace(":5", ":true")], "t:2: read is True, expected a whole number from 0"),
        ([HEADER, LADIES.replace("812.4", '"soon"')], "t:2: ms is 'soon', expected a number"),
        ([HEADER, LADIES.replace('"Ladies"', "7")], "t:2: word is 7, expected one word"),
        ([HEADER, LADIES.replace("Ladies", "two words")], "t:2: word is 'two words', expected one word"),
        ([HEADER, LADIES.replace("Ladies", "")], "t:2: word is '', expected one word"),
        (
            [HEADER, LADIES.replace("policy", "mood")],
            "t:2: reason is 'mood', expected one of 'policy', 'catch-up', 'flush', 'max-lag'",
        ),
        ([HEADER, LADIES, LADIES], "t:3: word index 0, expected 1"),
        (
            [HEADER, LADIES, LADIES.replace('x":0', 'x":1').replace(":5", ":4")],
            "t:3: read 4 words, but 5 had been read before",
        ),
        (
            [HEADER, LADIES.replace('sentence":0', 'sentence":3'), LADIES.replace('x":0', 'x":1')],
            "t:3: sentence 0 after sentence 3",
        ),
        ([HEADER, LAST], "t:2: 1 target words, but 0 were written"),
        ([HEADER, LADIES, LAST.replace("17", "4")], "t:3: 4 source words, but 5 were read"),
        ([HEADER, LADIES, LAST, LAST], "t:4: a record after the end of the stream"),
    ],
)
def test_what_a_correct_engine_cannot_have_written_is_refused(lines: list[str], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_trace(lines, path="t")
    assert str(caught.value) == message


def test_nobody_can_have_read_more_than_the_source_has() -> None:
    assert parse_trace([HEADER, LADIES, LAST], path="t", source_words=17).source_words() == 17
    with pytest.raises(FormatError, match=r"^t:3: 17 words read, but the source has 16$"):
        parse_trace([HEADER, LADIES, LAST], path="t", source_words=16)
    with pytest.raises(FormatError, match=r"^t:2: read 5 words, but the source has 4$"):
        parse_trace([HEADER, LADIES, LAST], path="t", source_words=4)


@pytest.mark.parametrize("line", ["[" * 100_000, '{"type":"write","index":' + "9" * 10_000 + "}"])
def test_json_that_would_break_the_parser_is_refused_too(line: str) -> None:
    with pytest.raises(FormatError, match=r"^t:2: not JSON: "):
        parse_trace([HEADER, line], path="t")


def test_settings_cannot_take_the_place_of_the_version() -> None:
    with pytest.raises(AssertionError):
        header_line({"version": 2})


counts = st.integers(0, 10**9)
settings = st.dictionaries(
    st.text().filter(lambda key: key not in ("type", "version")),
    st.none() | st.booleans() | counts | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    max_size=4,
)
words = st.text(min_size=1).filter(lambda word: word.split() == [word])


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """What an engine may write: delays and sentences that never go back, ended or cut off."""
    written = draw(st.lists(words, max_size=8))
    delays = list(accumulate(draw(st.integers(0, 3)) for _ in written))
    sentences = list(accumulate(draw(st.integers(0, 1)) for _ in written))
    records: list[Write | SentenceEnd | Note | End] = []
    for index, word in enumerate(written):
        time = draw(st.none() | st.floats(0, 1e9))
        reason = draw(st.sampled_from(REASONS))
        records.append(Write(word, index, delays[index], sentences[index], reason, time))
        records += draw(
            st.lists(st.builds(SentenceEnd, counts, counts, counts, st.text()), max_size=1)
            | st.lists(st.builds(Note, st.text(), counts, st.text()), max_size=1)
        )
    if draw(st.booleans()):
        records.append(End(max(delays, default=0) + draw(counts), len(written)))
    return Trace(draw(settings), tuple(records))


@given(traces())
def test_a_trace_round_trips(trace: Trace) -> None:
    text = "\n".join(trace_lines(trace)) + "\n"
    assert parse_trace(text.split("\n")) == trace


@given(traces())
def test_delays_of_a_trace_never_decrease_nor_pass_the_words_read(trace: Trace) -> None:
    assert trace.delays() == sorted(trace.delays())
    assert max(trace.delays(), default=0) <= trace.source_words()
    assert len(trace.words()) == len(trace.delays())


def test_words_go_to_the_sentence_that_was_given_also_after_a_cut() -> None:
    """A sentence that was too long for the model is two in the trace."""
    records: list[Record] = [
        Write("a", 0, 1, 0, "policy"),
        SentenceEnd(0, 3, 1, "forced"),
        Write("b", 1, 4, 1, "catch-up"),
        SentenceEnd(1, 1, 1, "given"),
        SentenceEnd(2, 1, 0, "given"),
        Write("c", 2, 6, 3, "flush"),
        SentenceEnd(3, 1, 1, "end"),
        End(6, 3),
    ]
    assert words_by_sentence(records, 3) == [["a", "b"], [], ["c"]]
