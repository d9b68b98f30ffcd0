"""Words come as they are typed, however the bytes are cut."""

from __future__ import annotations

import io
import os
from io import BufferedReader, BytesIO, RawIOBase
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turia.system.reading import LONGEST, live_lines, live_words, make_blocking, read_words


class Chunks(RawIOBase):
    """A pipe that gives its bytes in the chunks they were written in."""

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = [chunk for chunk in chunks if chunk]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        chunk = self.chunks.pop(0) if self.chunks else b""
        buffer[: len(chunk)] = chunk
        return len(chunk)


@given(st.text(alphabet="aß€😀 \n\t", max_size=40), st.lists(st.integers(0, 100), max_size=8))
def test_any_chunking_gives_the_same_words(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[start:end] for start, end in pairwise(places)]
    assert list(read_words(BufferedReader(Chunks(chunks)))) == text.split()


def test_a_word_comes_before_the_next_is_typed() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:
        words = read_words(file)
        pipe.write(b"guten ")
        assert next(words) == "guten"
        pipe.write("T\u00e4".encode()[:2])
        pipe.write("\u00e4g\n".encode()[1:])
        assert next(words) == "T\u00e4g"


def test_a_byte_order_mark_is_no_part_of_the_first_word() -> None:
    mark = b"\xef\xbb\xbf"
    assert list(read_words(BufferedReader(BytesIO(mark + b"guten Tag")))) == ["guten", "Tag"]
    chunks = [mark[:1], mark[1:2], mark[2:], b"gu", b"ten " + mark + b"Tag"]
    assert list(read_words(BufferedReader(Chunks(chunks)))) == ["guten", "\ufeffTag"]
    assert list(read_words(BufferedReader(BytesIO(mark[:1])))) == ["\ufffd"]


def test_a_word_without_end_fills_no_memory() -> None:
    """As of /dev/zero: a word is kept up to a bound, and the next one is whole."""
    chunks = [b"x" * 60_000] * 20 + [b"y z"]
    long, last = read_words(BufferedReader(Chunks(chunks), buffer_size=1 << 16))
    assert long == "x" * LONGEST
    assert last == "z"


def test_a_pipe_that_does_not_block_is_not_at_its_end() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:
        assert file.read1() == b""  # which would be taken for the end
        make_blocking(file)
        assert os.get_blocking(reading)
        pipe.write(b"guten ")
        assert next(read_words(file)) == "guten"
    make_blocking(io.StringIO())
    make_blocking(None)


def test_bytes_that_are_not_utf8_are_marked() -> None:
    assert list(read_words(BufferedReader(BytesIO(b"a\xff b \xc3")))) == ["a\ufffd", "b", "\ufffd"]


def test_where_nothing_comes_in_time_there_is_a_none() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:
        patience: list[float | None] = [None, 0.0, 0.0, None, None]
        words = live_words(file, "pipe", lambda: patience.pop(0))
        pipe.write(b"guten Ta")
        assert next(words) == "guten"
        assert next(words) is None
        assert next(words) is None
        pipe.write(b"g ")
        assert next(words) == "Tag"


def test_lines_come_when_they_are_complete() -> None:
    chunks = [b"eins\nzw", b"ei\n\ndrei\xe2\x80\xa8vier"]
    assert list(live_lines(BufferedReader(Chunks(chunks)))) == ["eins\n", "zwei\n", "\n", "drei\u2028vier"]


def test_a_file_never_makes_one_wait(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("eins zwei\n")
    with path.open("rb") as file:
        assert list(live_words(file, "file", lambda: 0.0)) == ["eins", "zwei"]
    assert list(live_words(BufferedReader(BytesIO(b"eins zwei")), "memory", lambda: 0.0)) == ["eins", "zwei"]
