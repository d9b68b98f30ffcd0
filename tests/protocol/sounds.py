"""Messages of sound, as a client makes them."""

from __future__ import annotations

from turia.protocol.sound import HEADER, SOUND


def sound_bytes(first: int, pcm: bytes) -> bytes:
    """The message for some samples."""
    return HEADER.pack(SOUND, first) + pcm
