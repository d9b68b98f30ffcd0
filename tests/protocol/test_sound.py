"""Sound on the wire."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.sounds import sound_bytes
from turia.protocol.sound import HEADER, MAX_SAMPLES, SOUND, SOUND_RATE, SoundBlock, is_sound, parse_sound
from turia.protocol.values import MAX_SEQ, ProtocolError
from turia.server import limits
from turia.speech.recogniser import RATE


@given(st.integers(0, MAX_SEQ), st.binary(min_size=1, max_size=100))
def test_what_is_sent_is_what_comes(first: int, half: bytes) -> None:
    data = sound_bytes(first, half + half)
    assert is_sound(data)
    assert parse_sound(data) == SoundBlock(first, half + half)
    assert parse_sound(data).samples == len(half)


def test_the_layout_is_as_documented() -> None:
    assert sound_bytes(0x0201, b"ab") == b"\x01" + bytes(7) + b"\x01\x02" + bytes(6) + b"ab"


@pytest.mark.parametrize("data", ['{"type":"ping"}', b'{"type":"ping"}', b' {"type":"ping"}', b"\n{}", b"", ""])
def test_json_is_no_sound(data: str | bytes) -> None:
    assert not is_sound(data)


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"\x02" + bytes(20), "sound of version 2, this server takes 1"),
        (b"\x01", "0 bytes of sound"),
        (HEADER.pack(1, 0), "0 bytes of sound"),
        (HEADER.pack(1, 0) + b"abc", "3 bytes of sound, expected 1 to 16000 samples of two bytes"),
        (HEADER.pack(1, 0) + bytes(2 * MAX_SAMPLES + 2), "32002 bytes of sound"),
        (HEADER.pack(1, 2**64 - 1) + b"ab", "expected numbers up to"),
    ],
)
def test_what_is_none_is_refused(data: bytes, cause: str) -> None:
    with pytest.raises(ProtocolError, match=cause) as caught:
        parse_sound(data)
    assert caught.value.code == "sound"


def constants(name: str) -> dict[str, str]:
    """Constants of a module of the page, as they are written there."""
    text = (Path(limits.__file__).parent / "static" / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^(?:export )?const ([A-Z_]+) = ([^;]+);", text, re.MULTILINE))


def test_the_page_sends_what_the_server_takes() -> None:
    sends, captures = constants("sound.js"), constants("capture.js")
    assert (sends["VERSION"], sends["HEADER"], sends["RATE"]) == (str(SOUND), str(HEADER.size), str(SOUND_RATE))
    assert (captures["RATE"], captures["BLOCK"]) == (str(SOUND_RATE), "RATE / 10")
    assert SOUND_RATE // 10 <= MAX_SAMPLES, "a block of the page is one message"
    assert RATE == SOUND_RATE, "recognisers hear what was sent"
