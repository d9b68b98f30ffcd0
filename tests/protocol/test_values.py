"""The limits of values: the page and the engine have the same."""

from __future__ import annotations

import re
from pathlib import Path

from turia.engine.source_words import LONGEST_INPUT
from turia.protocol.values import MAX_BYTES, MAX_LETTERS, PROTOCOL
from turia.server import limits


def test_the_page_knows_the_same_limits() -> None:
    connection, sources = (
        (Path(limits.__file__).parent / "static" / name).read_text(encoding="utf-8")
        for name in ("connection.js", "sources.js")
    )
    assert f"const PROTOCOL = {PROTOCOL};" in connection
    assert f"{{1,{MAX_LETTERS}}}" in sources
    words = re.search(r"const WORDS_PER_MESSAGE = (\d+);", connection)
    assert words is not None
    # The longest words, of letters with four bytes each, still fit into a message.
    assert int(words[1]) * (4 * MAX_LETTERS + 20) < MAX_BYTES


def test_a_word_may_be_as_long_as_the_engine_looks_at() -> None:
    assert MAX_LETTERS == LONGEST_INPUT
