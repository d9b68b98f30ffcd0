"""What a source word becomes: what is cut, left out, counted and noted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fakes import (
    Chaos,
    Echo,
    Recording,
    fake_model,
    run,
    stream_of,
    subwords,
    written,
)
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.segmenter.online import GivenSegmenter
from turia.segmenter.punctuation import PunctuationSegmenter
from turia.stream.trace import Note, SentenceEnd, Trace, Write, parse_trace, trace_lines
from turia.text.symbols import DOC_ID


def test_of_a_huge_word_little_is_kept() -> None:
    """And its full stop still ends the sentence."""
    stream = Stream(fake_model(Echo()), PunctuationSegmenter("de", 1), Settings(k=1))
    records = stream.push("x" * 200_000 + ".")
    assert len(json.dumps(stream.state())) < 2000
    records += stream.push("Ka")
    assert [record.reason for record in records if isinstance(record, SentenceEnd)] == ["punctuation"]
    assert [record.kind for record in records if isinstance(record, Note)] == ["long-word"]


def test_odd_words_are_read_but_cannot_be_forged_into_symbols() -> None:
    odd = ["<SEP>", "▁", "\ud800", "\x00", "x" * 200_000, "\u202eabc", "a▁b", "<0x41>", "<pad>", "–", "a\ufffdb"]
    backend = Echo()
    stream = stream_of(backend, [len(odd)], k=1)
    records = run(stream, odd)
    assert stream.read == len(odd)
    assert stream.replaced == 7
    notes = {record.kind for record in records if isinstance(record, Note)}
    assert notes >= {"long-word", "not-text"}
    text = " ".join(written(records))
    assert "▁" not in text
    assert "sep" in text


@pytest.mark.parametrize(
    ("word", "replaced"),
    [
        ("ka\x07", 1),
        ("\x00", 1),
        ("\u202eka", 1),
        (f"k{chr(0xD800)}a", 1),
        ("k\ufffda", 1),
        ("k" * 201, 1),
        ("k" * 60, 0),
        ("»ka!«", 0),
        ("k\u00ada", 0),
        ("▁", 1),
        ("ka▁le", 1),
        ("\N{GRINNING FACE}", 1),
        ("\N{WHITE SMILING FACE}\N{VARIATION SELECTOR-16}", 1),
        ("ka\N{GRINNING FACE}", 0),
        (">>", 0),
        ("…", 0),
        ("\N{CYRILLIC SMALL LETTER KA}\N{CYRILLIC SMALL LETTER A}", 1),
        ("k\N{CYRILLIC SMALL LETTER A}", 0),
        ("k\N{LATIN SMALL LETTER L WITH STROKE}", 0),
        ("\N{ARABIC-INDIC DIGIT THREE}", 0),
    ],
)
def test_what_the_model_does_not_get_is_counted_and_noted(word: str, replaced: int) -> None:
    """Marks are no part of speech, and soft hyphens no part of words: nothing is lost with them, nor with a picture
    beside a word. A picture alone is a word that is lost.
    """
    stream = stream_of(Echo(), [3], k=1)
    records = run(stream, ["ka", word, "le"])
    assert (stream.read, stream.replaced) == (3, replaced)
    kinds = [record.kind for record in records if isinstance(record, Note)]
    assert kinds.count("long-word") + kinds.count("not-text") == replaced


@pytest.mark.parametrize(
    "word", ["\u0645\u0631\u062d\u0628\u0627", "\u05e9\u05dc\u05d5\u05dd", "\u4f60\u597d", "\u0645" * 300]
)
def test_a_word_in_an_unknown_script_is_left_out_whole(word: str) -> None:
    """The model would get bytes that it has hardly seen, and lose the words around them as well."""
    records = run(stream_of(Echo(), [3], k=1), ["ka", word, "le"])
    assert [record.detail for record in records if isinstance(record, Note)] == [
        "a word in a script that the model does not know was left out"
    ]
    backend = Recording()
    run(stream_of(backend, [3], k=3), ["ka", word, "le"])
    (request,) = backend.encoded
    assert subwords().decode_words(request.ids.tolist()) == ["ka", "le"]


@pytest.mark.parametrize("normalises", [True, False])
def test_a_state_can_be_written_whatever_was_said(normalises: bool) -> None:
    """Half of a pair of surrogates has no place in UTF-8."""
    model = replace(fake_model(Echo()), normalises=normalises)
    stream = Stream(model, GivenSegmenter([9], 2), Settings(k=1))
    stream.push(f"k{chr(0xD800)}a")
    state = json.loads(json.dumps(stream.state(), ensure_ascii=False).encode())
    assert state["segmenter"]["pending"] == ["k\N{REPLACEMENT CHARACTER}a"]
    records = stream.push("le mi")
    assert [record.kind for record in records if isinstance(record, Note)] == ["not-text"]


def test_a_word_of_many_pieces_is_cut_and_ends_as_words_do() -> None:
    backend = Recording()
    run(stream_of(backend, [1], k=1), ["q" * 100])
    symbol, *pieces, _ = backend.encoded[0].ids.tolist()
    assert symbol == DOC_ID
    assert len(pieces) == 64
    assert subwords().ends_word[pieces].tolist() == [False] * 63 + [True]


@pytest.mark.parametrize(("normalises", "expected"), [(True, "ka"), (False, "Ka!")])
def test_words_are_normalised_for_models_that_were_trained_so(normalises: bool, expected: str) -> None:
    backend = Recording()
    model = replace(fake_model(backend), normalises=normalises)
    run(Stream(model, GivenSegmenter([1]), Settings(k=1)), ["Ka!"])
    assert backend.encoded[0].ids.tolist()[1:-1] == list(subwords().encode_word(expected))


@settings(deadline=None, max_examples=30)
@given(words=st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=25))
def test_any_text_can_be_streamed(words: list[str]) -> None:
    parts = [part for word in words for part in word.split()]
    stream = stream_of(Chaos(), [max(1, len(parts))], k=2)
    records = run(stream, words)
    assert stream.read == len(parts)
    trace = Trace(stream.header(), tuple(records))
    again = parse_trace(json.loads(json.dumps(list(trace_lines(trace)))))
    assert again == trace


def test_a_word_longer_than_a_sentence_may_be_is_cut_to_it() -> None:
    """Half of 64 positions are for the sentence: 31 pieces and a closing symbol."""
    backend = Recording()
    stream = Stream(fake_model(backend, max_positions=64), GivenSegmenter([2]), Settings(k=1))
    records = run(stream, ["x" * 60, "ka"])
    assert [record.kind for record in records if isinstance(record, Note)][:2] == ["long-word", "long-sentence"]
    assert max(request.ids.size for request in backend.encoded) <= 33
    assert not any(isinstance(record, Note) and "after 0 words" in record.detail for record in records)


def test_an_empty_word_is_no_word() -> None:
    stream = stream_of(Echo(), [2], k=1)
    assert (stream.push(""), stream.push(" \n"), stream.read) == ([], [], 0)
    assert [record.word for record in run(stream, ["ka", "", "le"]) if isinstance(record, Write)] == ["ka", "le"]
