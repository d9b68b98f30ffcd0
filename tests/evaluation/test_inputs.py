"""From files to streams: what fits is read, what does not is refused with file, line and cause."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from turia.errors import InputError
from turia.evaluation.inputs import (
    load_streams,
    read_lines,
    sentences_from_actions,
    sentences_from_trace,
    stream_from_actions,
    stream_from_trace,
)

FILES = {
    "source": "eins zwei drei\nvier fünf\n",
    "reference": "one two three\nfour five\n",
    "hypothesis": "one two\nthree four\nfive\n",
    "actions": "R W R R W W R W R W\n",
    "resegmented": "One two three\nfour five\n",
    "trace": '{"type":"stream","version":1,"k":2}\n'
    '{"type":"write","word":"one","index":0,"read":1,"sentence":0,"reason":"policy"}\n'
    '{"type":"end","source_words":5,"target_words":1}\n',
}
Write = Callable[..., dict[str, Path]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the files above, with other content where told so."""

    def write_files(**changed: str | bytes) -> dict[str, Path]:
        for name, text in {**FILES, **changed}.items():
            data = text if isinstance(text, bytes) else text.encode()
            (tmp_path / name).write_bytes(data)
        return {name: tmp_path / name for name in FILES}

    return write_files


def from_actions(files: dict[str, Path], resegmented: bool = False) -> object:
    return stream_from_actions(
        files["source"],
        files["reference"],
        files["hypothesis"],
        files["actions"],
        files["resegmented"] if resegmented else None,
    )


def test_a_stream_from_hypothesis_and_actions(write: Write) -> None:
    files = write()
    stream = stream_from_actions(files["source"], files["reference"], files["hypothesis"], files["actions"])
    assert stream.source_lengths == [3, 2]
    assert stream.references == ["one two three", "four five"]
    assert stream.words == ["one", "two", "three", "four", "five"]
    assert stream.delays == [1, 3, 3, 4, 5]
    assert stream.segments is None


def test_given_cuts_keep_the_hypothesis_own_spelling(write: Write) -> None:
    files = write()
    stream = stream_from_actions(
        files["source"], files["reference"], files["hypothesis"], files["actions"], files["resegmented"]
    )
    assert stream.segments == [["one", "two", "three"], ["four", "five"]]


def test_a_stream_from_a_trace(write: Write) -> None:
    files = write()
    stream = stream_from_trace(files["source"], files["reference"], files["trace"])
    assert (stream.words, stream.delays, stream.settings) == (["one"], [1], {"k": 2})


def test_a_trace_without_words_is_an_empty_hypothesis(write: Write) -> None:
    files = write(trace='{"type":"stream","version":1}\n{"type":"end","source_words":5,"target_words":0}\n')
    assert stream_from_trace(files["source"], files["reference"], files["trace"]).words == []


@pytest.mark.parametrize("blank", ["\n", " ", "\n \n"])
def test_a_blank_hypothesis_is_one_too(write: Write, blank: str) -> None:
    files = write(hypothesis=blank, actions="RRRRR", resegmented="\n\n")
    stream = stream_from_actions(
        files["source"], files["reference"], files["hypothesis"], files["actions"], files["resegmented"]
    )
    assert (stream.words, stream.delays, stream.segments) == ([], [], [[], []])


def test_each_line_may_be_a_stream_of_its_own(write: Write) -> None:
    files = write(hypothesis="one two\n\n", actions="RWRRW\nRR\n")
    first, second = sentences_from_actions(files["source"], files["reference"], files["hypothesis"], files["actions"])
    assert (first.source_lengths, first.words, first.delays) == ([3], ["one", "two"], [1, 3])
    assert (second.source_lengths, second.words, second.delays) == ([2], [], [])


def test_source_words_may_be_read_after_the_last_word(write: Write) -> None:
    files = write(actions="R W R R W W W W\nR R\n")
    stream = stream_from_actions(files["source"], files["reference"], files["hypothesis"], files["actions"])
    assert stream.delays == [1, 3, 3, 3, 3]


def test_a_line_of_its_own_may_end_before_it_is_read(write: Write) -> None:
    files = write(hypothesis="one two\nfour\n", actions="RWRW\nRW\n")
    first, second = sentences_from_actions(files["source"], files["reference"], files["hypothesis"], files["actions"])
    assert (first.source_lengths, first.delays) == ([3], [1, 2])
    assert (second.source_lengths, second.delays) == ([2], [1])


def test_lines_end_with_newlines_alone(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes("\ufeffa\u2028b\r\n\nc".encode())
    assert read_lines(path) == ["a\u2028b", "", "c"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"actions": "R W\nR x R\n"}, r"actions:2: column 3: expected R or W, found 'x'"),
        ({"actions": "R W R R W\nW R W R W W\n"}, r"actions:2: 6 writes, but .*hypothesis has 5 words"),
        ({"actions": "R W R R W W R W\nR\n"}, r"actions:2: 4 writes, but .*hypothesis has 5 words"),
        ({"actions": "R W R R W W R W R W\nR\n"}, r"actions:2: 6 reads, but the source has 5 words"),
        ({"actions": "R W R R W W R\nW W\n"}, r"actions:2: ends after 4 reads, but the source has 5 words; if .* an R"),
        ({"source": ""}, r"source: an empty file"),
        ({"reference": "\n \n"}, r"reference: an empty file"),
        ({"hypothesis": ""}, r"hypothesis: an empty file"),
        ({"actions": ""}, r"actions: an empty file"),
        ({"actions": "\n"}, r"actions:1: 0 writes, but .*hypothesis has 5 words"),
        ({"source": "eins\n\nzwei\n"}, r"reference:2: ends here: .*source has 3 lines, but .*reference has 2"),
        ({"source": "eins zwei\n"}, r"source:1: ends here: .*source has 1 line, but .*reference has 2"),
        ({"source": "eins zwei drei vier fünf\n\n"}, r"source:2: an empty line: a sentence without source words"),
        ({"reference": b"one\ntw\xf6\n"}, r"reference:2: not UTF-8: byte 0xf6"),
        ({"resegmented": "one two three\n"}, r"resegmented:1: 1 line, expected one for each reference \(2\)"),
        ({"resegmented": "one\n\n\n\n"}, r"resegmented:3: 4 lines, expected one for each reference \(2\)"),
        ({"resegmented": "one two\nfour\n"}, r"resegmented:2: found 'four' where the hypothesis has 'three'"),
        ({"resegmented": "one two\nthree four\n"}, r"resegmented:2: 4 words, but the hypothesis has 5"),
    ],
)
def test_what_does_not_fit_is_refused(write: Write, changed: dict[str, str | bytes], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        from_actions(write(**changed), resegmented="resegmented" in changed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("compress", "unpacks"), [(gzip.compress, "gunzip"), (lzma.compress, "unxz"), (bz2.compress, "bunzip2")]
)
def test_a_compressed_file_is_refused_as_one(write: Write, compress: Callable[[bytes], bytes], unpacks: str) -> None:
    files = write(reference=compress(FILES["reference"].encode()))
    with pytest.raises(InputError, match=rf"reference: a compressed file; unpack it first \({unpacks}\)$"):
        from_actions(files)


def test_a_missing_file_and_a_folder_are_refused(write: Write, tmp_path: Path) -> None:
    files = write()
    with pytest.raises(InputError, match=r"nowhere: no such file"):
        from_actions({**files, "actions": tmp_path / "nowhere"})
    with pytest.raises(InputError, match=r"cannot be read: Is a directory"):
        from_actions({**files, "source": tmp_path})


def test_a_trace_that_read_more_than_there_is_is_refused(write: Write) -> None:
    files = write(source="eins\nzwei drei\n")
    with pytest.raises(InputError, match=r"trace:3: 5 words read, but the source has 3"):
        stream_from_trace(files["source"], files["reference"], files["trace"])


@pytest.mark.parametrize("lines", [1, 2])
def test_a_trace_that_was_broken_off_is_refused(write: Write, lines: int) -> None:
    files = write(trace="".join(FILES["trace"].splitlines(keepends=True)[:lines]))
    with pytest.raises(InputError, match=r'trace: the trace is not whole: its last line is no "type":"end"'):
        stream_from_trace(files["source"], files["reference"], files["trace"])


def test_a_trace_that_ended_before_the_source_did_is_refused(write: Write) -> None:
    files = write(trace=FILES["trace"].replace('"source_words":5', '"source_words":4'))
    with pytest.raises(InputError, match=r"trace: the stream ended after 4 words, but the source has 5"):
        stream_from_trace(files["source"], files["reference"], files["trace"])


@pytest.mark.parametrize(
    ("hypothesis", "actions", "message"),
    [
        ("one\nfour\n", "R W\nR Q\n", r"actions:2: column 3: expected R or W, found 'Q'"),
        ("one\nfour\n", "R W\nR W W\n", r"actions:2: 2 writes, but that line of .*hypothesis has 1 word"),
        ("one\nfour\n", "R W\nR R R W\n", r"actions:2: 3 reads, but that line of .*source has 2 words"),
        ("one\n", "R W\nR W\n", r"hypothesis:1: ends here: .*hypothesis has 1 line, but .*reference has 2"),
        ("one\nfour\n", "R W\n", r"actions:1: ends here: .*actions has 1 line, but .*reference has 2"),
    ],
)
def test_sentences_that_do_not_fit_are_refused(write: Write, hypothesis: str, actions: str, message: str) -> None:
    files = write(hypothesis=hypothesis, actions=actions)
    with pytest.raises(InputError, match=message):
        sentences_from_actions(files["source"], files["reference"], files["hypothesis"], files["actions"])


def test_several_streams_come_in_step(write: Write) -> None:
    files = {name: [path, path] for name, path in write().items()}
    streams = load_streams(
        files["source"], files["reference"], hypotheses=files["hypothesis"], actions=files["actions"]
    )
    assert [stream.delays for stream in streams] == [[1, 3, 3, 4, 5]] * 2
    with pytest.raises(InputError, match="2 x source, but 1 x actions: repeat the options in step"):
        load_streams(files["source"], files["reference"], hypotheses=files["hypothesis"], actions=files["actions"][:1])


@pytest.mark.parametrize("given", [(), ("traces", "hypotheses"), ("traces", "actions"), ("hypotheses",), ("actions",)])
def test_a_stream_is_a_trace_or_a_hypothesis_with_actions(given: tuple[str, ...]) -> None:
    path = [Path("x")]
    with pytest.raises(InputError, match="expected either a trace, or a hypothesis with its actions"):
        load_streams(
            path,
            path,
            traces=path if "traces" in given else [],
            hypotheses=path if "hypotheses" in given else [],
            actions=path if "actions" in given else [],
        )


def test_sentence_by_sentence_there_is_nothing_to_cut() -> None:
    path = [Path("x")]
    with pytest.raises(InputError, match="nothing re-segmented"):
        load_streams(path, path, hypotheses=path, actions=path, resegmented=path, sentences=True)


def sentence_trace(third: str) -> str:
    """The first sentence is cut after two words, as a long one is; `third` is its third word."""
    return (
        '{"type":"stream","version":1,"k":2}\n'
        '{"type":"write","word":"one","index":0,"read":2,"sentence":0,"reason":"policy"}\n'
        '{"type":"write","word":"two","index":1,"read":2,"sentence":0,"reason":"catch-up"}\n'
        '{"type":"sentence","sentence":0,"source_words":2,"target_words":2,"reason":"forced"}\n'
        f"{third}"
        '{"type":"sentence","sentence":1,"source_words":1,"target_words":1,"reason":"given"}\n'
        '{"type":"write","word":"four","index":3,"read":4,"sentence":2,"reason":"policy"}\n'
        '{"type":"sentence","sentence":2,"source_words":2,"target_words":1,"reason":"end"}\n'
        '{"type":"end","source_words":5,"target_words":4}\n'
    )


def test_a_trace_is_taken_sentence_by_sentence(write: Write) -> None:
    third = '{"type":"write","word":"three","index":2,"read":3,"sentence":1,"reason":"catch-up"}\n'
    files = write(trace=sentence_trace(third))
    first, second = sentences_from_trace(files["source"], files["reference"], files["trace"])
    assert (first.words, first.delays, first.source_lengths) == (["one", "two", "three"], [2, 2, 3], [3])
    assert (second.words, second.delays, second.references) == (["four"], [1], ["four five"])
    assert second.segments == [["four"]]


@pytest.mark.parametrize(
    "third",
    [
        '{"type":"write","word":"three","index":2,"read":4,"sentence":1,"reason":"policy"}\n',
        # Nothing is left of the source after this sentence.
        '{"type":"sentence","sentence":1,"source_words":3,"target_words":0,"reason":"given"}\n'
        '{"type":"write","word":"three","index":2,"read":4,"sentence":2,"reason":"policy"}\n',
    ],
)
def test_a_trace_of_other_sentences_is_not_taken_sentence_by_sentence(write: Write, third: str) -> None:
    files = write(trace=sentence_trace(third))
    with pytest.raises(InputError, match="a word was written after its sentence; expected a stream cut at the source"):
        sentences_from_trace(files["source"], files["reference"], files["trace"])
