"""Text that others have written, made fit for a terminal: it obeys control characters, and could be given orders."""

from __future__ import annotations

_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "\ufffd")


def harmless(text: str) -> str:
    """The text with each control character replaced."""
    return text if text.isprintable() else text.translate(_CONTROLS)
