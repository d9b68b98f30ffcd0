"""Connections without a client's manners: bytes, as whoever means harm would send them."""

from __future__ import annotations

import base64
import os
import socket
import time

PING, PONG = b"\x89\x80\0\0\0\0", b"\x8a\x80\0\0\0\0"
"""Empty frames, masked with zeros."""
BEGUN, FRAGMENT = b"\x01\x80\0\0\0\0", b"\x00\x80\0\0\0\0"
"""The beginning of a text, and a part of it, both empty and not the last."""


def connection(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def upgraded(port: int, receive_buffer: int | None = None) -> socket.socket:
    """A WebSocket that has said nothing yet."""
    raw = socket.socket()
    if receive_buffer is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    raw.settimeout(30)
    raw.connect(("127.0.0.1", port))
    nonce = base64.b64encode(os.urandom(16)).decode()
    lines = ["GET /socket HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {nonce}", "Sec-WebSocket-Version: 13", "", ""]
    raw.sendall("\r\n".join(lines).encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += raw.recv(1)
    assert answer.startswith(b"HTTP/1.1 101"), answer
    return raw


def text_frame(text: str) -> bytes:
    data = text.encode()
    assert 126 <= len(data) < 2**16 or len(data) < 126
    head = bytes([0x81, 0x80 | len(data)]) if len(data) < 126 else bytes([0x81, 0xFE]) + len(data).to_bytes(2, "big")
    return head + bytes(4) + data


def flood(raw: socket.socket, frame: bytes, seconds: float, reads: bool = True) -> tuple[int, float | None]:
    """Sends a frame again and again: how often, and after how many seconds the server had enough."""
    block, sent, began = frame * 2000, 0, time.monotonic()
    while time.monotonic() - began < seconds:
        try:
            raw.settimeout(0.1)
            sent += raw.send(block[sent % len(frame) :])
            raw.setblocking(False)
            while reads and raw.recv(2**16):
                pass
        except (BlockingIOError, TimeoutError):
            continue
        except OSError:
            return sent // len(frame), time.monotonic() - began
    return sent // len(frame), None


def rest(raw: socket.socket, seconds: float = 30) -> bytes:
    """All that comes until the server closes."""
    raw.settimeout(seconds)
    data = b""
    try:
        while more := raw.recv(2**16):
            data += more
    except ConnectionResetError:
        pass
    return data
