"""Words from a file or a pipe, each as soon as it is complete: when white space or the end of the input follows."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from io import BufferedReader

_CHUNK = 1 << 16


def read_words(file: BufferedReader) -> Iterator[str]:
    """The words of UTF-8 text; what is not UTF-8 comes out as U+FFFD, since a live stream cannot be sent back."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pending = ""
    # read1 gives what is there and waits only for the first byte.
    while chunk := file.read1(_CHUNK):
        pending += decoder.decode(chunk)
        words = pending.split()
        pending = words.pop() if words and not pending[-1].isspace() else ""
        yield from words
    pending += decoder.decode(b"", final=True)
    yield from pending.split()
