"""Sound on the wire: a binary message of 16 bytes of header and 16-bit samples (docs/protocol.md, "Sound").

    byte 0        version, 1
    bytes 1-7     0; later versions may say more
    bytes 8-15    number of the first sample, little-endian
    bytes 16-     1 to 16,000 samples of 16 kHz mono: two bytes each, signed, little-endian

Samples are numbered on a clock of 16,000 a second, which begins with the session's first sound.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from turia.protocol.values import MAX_SEQ, ProtocolError

SOUND = 1
"""Version of these messages."""
SOUND_RATE = 16_000
MAX_SAMPLES = SOUND_RATE
"""Of one message: a second."""
HEADER = struct.Struct("<B7xQ")


@dataclass(frozen=True)
class SoundBlock:
    """Some sound."""

    first: int
    """Number of its first sample."""
    pcm: bytes

    @property
    def samples(self) -> int:
        return len(self.pcm) // 2


def is_sound(data: str | bytes) -> bool:
    """Whether a message is sound of any version: JSON, which may come as bytes too, never begins like that."""
    return isinstance(data, bytes) and data[:1] in (b"\x01", b"\x02", b"\x03", b"\x04")


def parse_sound(data: bytes) -> SoundBlock:
    """The sound of a message."""
    if data[0] != SOUND:
        raise ProtocolError("sound", f"sound of version {data[0]}, this server takes {SOUND}")
    size = len(data) - HEADER.size
    if size < 2 or size % 2 or size > 2 * MAX_SAMPLES:
        raise ProtocolError("sound", f"{max(0, size)} bytes of sound, expected 1 to {MAX_SAMPLES} samples of two bytes")
    _, first = HEADER.unpack_from(data)
    if first > MAX_SEQ:
        raise ProtocolError("sound", f"sample {first}, expected numbers up to {MAX_SEQ}")
    return SoundBlock(first, data[HEADER.size :])
