"""The reserved symbols have the ids that model folders rely on."""

from __future__ import annotations

from turia.text import symbols
from turia.text.symbols import CLOSING_IDS, CONTROL, PAD, UNK


def test_ids_are_places_in_every_vocabulary() -> None:
    names = [PAD, UNK, *CONTROL]
    own = {name: getattr(symbols, f"{name.strip('<>').upper()}_ID") for name in names}
    assert own == {name: place for place, name in enumerate(names)}


def test_what_closes_a_sentence() -> None:
    assert [CONTROL[number - 2] for number in CLOSING_IDS] == ["<SEP>", "<BRK>", "<END>"]
