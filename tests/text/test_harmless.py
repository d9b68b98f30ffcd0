"""What a terminal gets of text that holds orders for it."""

from __future__ import annotations

from turia.text.harmless import harmless


def test_controls_are_replaced_and_all_else_stays() -> None:
    assert harmless("\x1b[31mrot\x07 \x9b2J") == "\ufffd[31mrot\ufffd \ufffd2J"
    # Not printable for Python, and no order either: a no-break space and a soft hyphen.
    assert harmless("für\xa0Sie \xad 日本") == "für\xa0Sie \xad 日本"
