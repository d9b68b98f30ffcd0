"""Feeds of recognisers: final words with their times come out, partial ones as tails, and nonsense is named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turia.errors import FormatError
from turia.formats import asr_feeds
from turia.formats.asr_feeds import InputFormat
from turia.formats.feed_words import shared_out
from turia.stream.times import Heard, Silent, SpokenWord, UnstableTail


def spoken_words(kind: InputFormat, lines: Iterable[str], path: str | None = None) -> Iterator[SpokenWord]:
    """The final words of a feed, each as soon as its line is there."""
    return (item for item in asr_feeds.heard(kind, lines, path) if isinstance(item, SpokenWord))


def heard(kind: InputFormat, *lines: str) -> list[tuple[str, float | None, float | None]]:
    return [(word.text, word.start, word.end) for word in spoken_words(kind, [f"{line}\n" for line in lines], "feed")]


def test_plain_words() -> None:
    assert heard("words", "guten morgen", "", "zusammen") == [
        ("guten", None, None), ("morgen", None, None), ("zusammen", None, None)
    ]  # fmt: skip


@pytest.mark.parametrize("emitted", ["", "4186.3606 "])
def test_whisper_streaming(emitted: str) -> None:
    """The server's lines, and the program's, which have the time of emission in front."""
    assert heard("whisper", f"{emitted}0 1720 Takhle to", f"{emitted}1720 2000 3 je", f"{emitted}2000 2000") == [
        ("Takhle", 0.0, 0.86), ("to", 0.86, 1.72), ("3", 1.72, 1.86), ("je", 1.86, 2.0)
    ]  # fmt: skip


def test_json_lines() -> None:
    assert heard(
        "jsonl",
        '{"start": 0, "end": 1, "text": "gut", "is_final": false}',
        '{"start": 0, "end": 2, "text": "guten morgen", "is_final": true}',
        '{"text": "ohne zeit"}',
    ) == [("guten", 0.0, 1.0), ("morgen", 1.0, 2.0), ("ohne", None, None), ("zeit", None, None)]


def test_vosk_with_times_without_them_and_with_alternatives() -> None:
    assert heard(
        "vosk",
        '{"partial": "guten"}',
        '{"result": [{"conf": 1.0, "start": 0.1, "end": 0.5, "word": "guten"}], "text": "guten"}',
        "{",
        '  "text" : "morgen allerseits"',
        "}",
        '{"alternatives": [{"text": "ja", "result": [{"word": "ja", "start": 2, "end": 3}]}, {"text": "na"}]}',
        '{"text": ""}',
    ) == [("guten", 0.1, 0.5), ("morgen", None, None), ("allerseits", None, None), ("ja", 2.0, 3.0)]


def test_a_message_over_many_lines_is_read_when_it_may_be_complete() -> None:
    words = [f'{{\n"word": "ja",\n"start": {i},\n"end": {i}.5\n}}' for i in range(3000)]
    message = '{\n"result": [' + ", ".join(words) + '],\n"text": "ja"\n}'
    assert heard("vosk", *message.split("\n")) == [("ja", float(i), i + 0.5) for i in range(3000)]


def test_milliseconds_since_1970_are_known_by_their_size() -> None:
    assert heard("jsonl", '{"text": "ja", "start": 1763000000000, "end": 1763000000250}') == [
        ("ja", 1763000000.0, 1763000000.25)
    ]
    assert heard("whisper", "1763000000000 1763000000250 ja", "-20 100 nein") == [
        ("ja", 1763000000.0, 1763000000.25), ("nein", -0.02, 0.1)
    ]  # fmt: skip


def result(words: list[str], final: bool) -> str:
    timed = [
        {"word": word.lower(), "punctuated_word": word, "start": i / 2, "end": (i + 1) / 2}
        for i, word in enumerate(words)
    ]
    best = {"transcript": " ".join(words), "confidence": 0.9, "words": timed}
    return json.dumps({"type": "Results", "is_final": final, "channel": {"alternatives": [best, {"words": []}]}})


def test_deepgram() -> None:
    bare = '{"is_final":true,"start":1.0,"duration":1.0,"channel":{"alternatives":[{"transcript":"so so","words":[]}]}}'
    lines = ['{"type":"SpeechStarted"}', result(["Goten"], False), result(["Guten", "Tag."], True), bare]
    assert heard("deepgram", *lines) == [
        ("Guten", 0.0, 0.5), ("Tag.", 0.5, 1.0), ("so", 1.0, 1.5), ("so", 1.5, 2.0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "line"),
    [("words", "ja"), ("whisper", "0 1000 ja"), ("jsonl", '{"text": "ja"}'), ("vosk", '{"text": "ja"}')],
)
def test_a_byte_order_mark_is_no_part_of_the_first_line(kind: InputFormat, line: str) -> None:
    assert [word for word, _, _ in heard(kind, f"\ufeff{line}", line)] == ["ja", "ja"]


@given(
    st.lists(
        st.tuples(
            st.lists(st.lists(st.sampled_from(["ja", "nein", "Ja."]), max_size=3), max_size=3),
            st.lists(st.sampled_from(["ja", "nein", "doch"]), max_size=3),
        ),
        max_size=6,
    )
)
def test_partial_hypotheses_never_change_what_comes_out(utterances: list[tuple[list[list[str]], list[str]]]) -> None:
    with_partials = [
        line
        for partials, final in utterances
        for line in (*(result(words, False) for words in partials), result(final, True))
    ]
    only_final = [result(final, True) for _, final in utterances]
    assert heard("deepgram", *with_partials) == heard("deepgram", *only_final)
    assert [word for word, _, _ in heard("deepgram", *only_final)] == [
        word for _, final in utterances for word in final
    ]


def test_words_come_out_before_the_next_line_is_asked_for() -> None:
    asked: list[int] = []

    def lines() -> Iterator[str]:
        for number in range(3):
            asked.append(number)
            yield f'{{"text": "w{number}"}}\n'

    words = spoken_words("jsonl", lines())
    assert next(words).text == "w0"
    assert asked == [0]


@pytest.mark.parametrize(
    ("kind", "lines", "message"),
    [
        ("whisper", ["0 100 ja", "nein"], "feed:2: expected `begin end text`"),
        ("jsonl", ['{"text": "ja"}', "nein"], "feed:2: not JSON"),
        ("jsonl", ["[1]"], "feed:1: expected a JSON object"),
        ("jsonl", ['{"end": 1}'], "feed:1: not a message of jsonl: no 'text'"),
        ("jsonl", ['{"text": "ja", "end": "x"}'], "feed:1: not a message of jsonl: end is 'x', expected seconds"),
        ("jsonl", ['{"text": "ja", "is_final": 1}'], "feed:1: not a message of jsonl: is_final is 1, expected true"),
        ("jsonl", ['{"text": "ja"', '{"text": "nein"}'], "feed:1: not JSON"),
        ("jsonl", ['{"text": "ja", "end": NaN}'], "feed:1: not a message of jsonl: end is nan, expected seconds"),
        ("jsonl", [f'{{"text": "ja", "end": 1{"0" * 400}}}'], "feed:1: not a message of jsonl: end is 10000"),
        (
            "jsonl",
            ['{"text": "ja", "end": 1763000000000000}'],
            "feed:1: not a message of jsonl: end is 1763000000000000",
        ),
        ("whisper", [f"0 1{'0' * 5000} ja"], "feed:1: expected `begin end text`"),
        ("vosk", ["", "{", '"text":'], "feed:2: not JSON: the feed ends inside a message"),
        # To read these again with every line took hours.
        ("vosk", ['{"a": [1', *[",1"] * 500_000], "feed:1: not JSON: no end after 1048576 characters"),
        ("vosk", ['{"a": [{}', *[",{}"] * 200_000], "feed:1: not JSON: Expecting ',' delimiter"),
        ("vosk", ['{"result": [{"word": 3}]}'], "feed:1: not a message of vosk: word is 3, expected text"),
        ("vosk", ['{"result": "ja"}'], "feed:1: not a message of vosk: its parts are not as docs/asr.md shows"),
        ("deepgram", ['{"is_final": true, "channel": {"alternatives": []}}'], "feed:1: not a message of deepgram: its"),
        ("deepgram", ['{"is_final": true, "channel": {"alternatives": ["ja"]}}'], "feed:1: not a message of deepgram"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_not_the_format_is_refused_with_its_line(kind: InputFormat, lines: list[str], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        heard(kind, *lines)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_text_shares_out_its_time() -> None:
    assert shared_out("a b", 1.0, 2.0) == [SpokenWord("a", 1.0, 1.5), SpokenWord("b", 1.5, 2.0)]
    assert shared_out("", 1.0, 2.0) == []


def all_heard(kind: InputFormat, *lines: str | None) -> list[str]:
    """Words as they are, tails in brackets, a silence as "..."."""

    def shown(item: Heard) -> str:
        match item:
            case SpokenWord(text):
                return text
            case UnstableTail(text):
                return f"[{text}]"
            case Silent():
                return "..."

    return [shown(item) for item in asr_feeds.heard(kind, lines, "feed")]


PARTIALS: list[tuple[InputFormat, list[str]]] = [
    (
        "vosk",
        ['{"partial": "gut"}', '{"partial": "guten  tag"}', '{"result": [{"word": "guten", "start": 0, "end": 1}]}'],
    ),
    ("jsonl", ['{"text": "gut", "is_final": false}', '{"text": "guten tag", "is_final": false}', '{"text": "guten"}']),
    ("deepgram", [result(["gut"], False), result(["guten", "tag"], False), result(["guten"], True)]),
]


@pytest.mark.parametrize(("kind", "lines"), PARTIALS, ids=[kind for kind, _ in PARTIALS])
def test_a_partial_comes_out_as_the_tail_when_it_changes(kind: InputFormat, lines: list[str]) -> None:
    short, long, final = lines
    assert all_heard(kind, short, long, long, final) == ["[gut]", "[guten tag]", "guten"]
    # It shrinks, and comes again after final words.
    assert all_heard(kind, long, short, long) == ["[guten tag]", "[gut]", "[guten tag]"]
    assert all_heard(kind, long, final, long, final) == ["[guten tag]", "guten", "[guten tag]", "guten"]


def test_silence_passes_through_also_inside_a_message() -> None:
    assert all_heard("vosk", "{\n", None, '"text": "ja"}\n', None) == ["...", "ja", "..."]
    assert all_heard("words", None, "\ufeffja nein", None) == ["...", "ja", "nein", "..."]
    assert all_heard("whisper", "0 1000 ja", None) == ["ja", "..."]


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("vosk", '{"partial": null}'),
        ("jsonl", '{"is_final": false}'),
        ("deepgram", '{"is_final": false, "channel": {"alternatives": []}}'),
    ],
)
def test_a_partial_that_cannot_be_read_says_nothing(kind: InputFormat, line: str) -> None:
    assert all_heard(kind, line) == []


def test_speakers_are_taken_where_a_feed_names_them() -> None:
    word = {"word": "ja", "start": 0, "end": 1}
    best = {"transcript": "ja nein", "words": [word | {"speaker": 0}, word | {"speaker": 1}]}
    deepgram = json.dumps({"is_final": True, "channel": {"alternatives": [best]}})
    lines: list[tuple[InputFormat, list[str], list[str | None]]] = [
        ("deepgram", [deepgram], ["Speaker 0", "Speaker 1"]),
        ("jsonl", ['{"text": "ja", "speaker": "Anna"}', '{"text": "so"}'], ["Anna", None]),
        ("vtt", ["WEBVTT", "", "00:01.000 --> 00:02.000", "<v Anna>ja"], ["Anna"]),
        ("whisperlivekit", ['{"lines": [{"speaker": 2, "text": "ja"}]}'], ["Speaker 2"]),
        ("srt", ["1", "00:00:01,000 --> 00:00:02,000", "ja", ""], [None]),
    ]  # fmt: skip
    for kind, feed, speakers in lines:
        assert [found.speaker for found in spoken_words(kind, [f"{line}\n" for line in feed])] == speakers, kind
    with pytest.raises(FormatError, match="feed:1: not a message of jsonl: speaker is"):
        list(spoken_words("jsonl", ['{"text": "ja", "speaker": 1.5}'], "feed"))
