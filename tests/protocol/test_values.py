"""The limits of values: the page and the engine have the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from turia.engine.source_words import LONGEST_INPUT
from turia.protocol.client_messages import parse_client
from turia.protocol.values import MAX_BYTES, MAX_LETTERS, PROTOCOL, ProtocolError
from turia.schema import write_json
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


@pytest.mark.parametrize("lag", ["0" * 60_000 + "5", "5" + " " * 60_000])
def test_a_lag_is_short_as_it_is_stored_at_every_word(lag: str) -> None:
    with pytest.raises(ProtocolError, match="target_lag is a string, expected a lag of"):
        parse_client(write_json({"type": "settings", "seq": 1, "target_lag": lag}))
    parse_client(write_json({"type": "settings", "seq": 1, "target_lag": " 12.5 words "}))


def test_names_are_no_half_characters_which_no_store_takes() -> None:
    with pytest.raises(ProtocolError, match="ticket is a string, expected a string of 1 to 200 letters"):
        parse_client('{"type":"hello","protocol":1,"ticket":"a\\ud800"}')
