"""What a card says to programs, and what to people."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.errors import ModelError
from turia.runtime.card import body, card_corpora, front_matter, read_card, shown_card

CARD = """---
language: [de, en]
data:
- Europarl v10
- "Tatoeba: 2024"
- "the \\"best\\" \\u00e4"
- 'somebody''s'
scores: 'BLEU 25.1, AL 5.3 (europarl-st test, w=2, k=8)'
empty:
---
# A model

scores: not this one
"""


def test_front_matter() -> None:
    assert front_matter(CARD) == {
        "language": ("[de, en]",),
        "data": ("Europarl v10", "Tatoeba: 2024", 'the "best" ä', "somebody's"),
        "scores": ("BLEU 25.1, AL 5.3 (europarl-st test, w=2, k=8)",),
        "empty": (),
    }
    assert body(CARD) == "# A model\n\nscores: not this one\n"


@pytest.mark.parametrize(
    "card", ["", "# A model\n\nscores: 3\n", "---\nscores: never closed\n", "\n---\nscores: 1\n---\n"]
)
def test_a_card_without_front_matter_says_nothing(card: str) -> None:
    assert front_matter(card) == {}
    assert body(card) == card


def test_corpora_of_a_card_with_their_licences() -> None:
    card = "---\ndata:\n- a/b.tsv\n- c\n---\n# A\n\n- c of other things\n- a/b.tsv: CC BY 2.0: FR\n- d: no corpus\n"
    assert card_corpora(card) == {"a/b.tsv": "CC BY 2.0: FR", "c": None}
    assert card_corpora("# no front matter\n") == {}


def test_a_card_of_another_encoding_is_shown_and_not_written_again(tmp_path: Path) -> None:
    """As an editor of another time saves it."""
    assert read_card(tmp_path) == shown_card(tmp_path) == ""
    card = tmp_path / "README.md"
    card.write_text("---\nlicense: mit\n---\nMüller\n", encoding="latin-1")
    assert shown_card(tmp_path) == "---\nlicense: mit\n---\nM\ufffdller\n"
    with pytest.raises(ModelError, match=r"README.md: not UTF-8 at byte 22; save the card as UTF-8"):
        read_card(tmp_path)
    card.unlink()
    card.mkdir()
    assert shown_card(tmp_path) == ""
    with pytest.raises(ModelError, match=r"README.md: cannot be read: Is a directory"):
        read_card(tmp_path)
