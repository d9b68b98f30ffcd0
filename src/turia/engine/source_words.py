"""What the engine makes of a source word: how much of it is looked at, and the pieces that the model reads.

People say no words of 200 letters; programs that feed a stream may. Nothing that comes in is refused: what the model
cannot read is cut or left out, and a note says so.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from turia.engine.model import Model
from turia.engine.writer import REPLACEMENT
from turia.text.normalise import clean_word, normalise_word
from turia.text.symbols import WORD_END

LONGEST_INPUT = 200
"""Letters of a source word that are looked at; nobody says longer ones."""
MOST_PIECES = 64
"""Of a source word; a longer one is cut."""


class Problem(NamedTuple):
    """Why a word did not reach the model as it was given: the kind and the text of a note."""

    kind: str
    text: str


class EncodedWord(NamedTuple):
    """A source word as the model reads it."""

    pieces: tuple[int, ...]
    """Empty if the word normalises to nothing, or is in a script that the model does not know."""
    problem: Problem | None = None


def shortened(word: str) -> str:
    """The word as the segmenter gets it. A cut one is still longer than `LONGEST_INPUT`, so that it can be told."""
    # A longer one would be looked at, and kept in the state, for as long as the segmenter has use for it.
    shown = word if len(word) <= LONGEST_INPUT else word[:LONGEST_INPUT] + word[-1]
    # Nor can half of a pair of surrogates be kept: there is no UTF-8 for it.
    return _SURROGATES.sub(REPLACEMENT, shown)


def source_word(model: Model, word: str) -> EncodedWord:
    """The pieces of a word that the segmenter has released."""
    given = word[:LONGEST_INPUT]
    normal = normalise_word(given) if model.normalises else clean_word(given)
    if not normal.isascii() and not model.source_subwords.may_know(normal):
        # Its pieces would be bytes that the model has hardly seen: the rest of the sentence would be lost as well.
        return EncodedWord((), Problem("not-text", "a word in a script that the model does not know was left out"))
    pieces = model.source_subwords.encode_word(normal) if normal else ()
    most = min(MOST_PIECES, model.sentence_positions)
    if len(word) > LONGEST_INPUT or len(pieces) > most:
        # Its end stays, so that it ends as every word does.
        pieces = (*pieces[: most - 1], pieces[-1]) if len(pieces) > most else pieces
        return EncodedWord(pieces, Problem("long-word", "a very long word was cut for the model"))
    if not word.isalnum() and any(map(_is_no_text, word)):
        return EncodedWord(pieces, Problem("not-text", "control characters were left out"))
    if REPLACEMENT in word:
        return EncodedWord(pieces, Problem("not-text", "there were bytes that are no text"))
    if WORD_END in word or (not normal and any(map(_is_picture, word))):
        return EncodedWord(pieces, Problem("not-text", "a symbol that the model cannot read was left out"))
    return EncodedWord(pieces)


def _is_picture(letter: str) -> bool:
    """Emoji, ∞ and the like. A word of nothing else is lost to the model; of marks alone (`–`, `>>`) it was none."""
    category = unicodedata.category(letter)
    return category == "So" or (category == "Sm" and not letter.isascii())


def _is_no_text(letter: str) -> bool:
    """Letters that no writer means: controls, code points without a meaning, changes of direction."""
    return unicodedata.category(letter) in ("Cc", "Co", "Cn") or letter in _DIRECTIONS


_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
