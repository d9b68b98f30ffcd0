"""Numbers of things, as people write them."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """`1 sentence`, `2 sentences`: for all that gets an s."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
