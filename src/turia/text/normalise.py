"""Text as the model reads it and as it writes it: one function each for training and for inference.

The **source** is what a speech recogniser would give: lower case, no punctuation. `normalise_word` works word
by word and knows no context, so a stream can be normalised while it is spoken. A stream word becomes exactly
one word or nothing.

- Letters (with their marks), digits and the symbols that are read aloud (% ‰ & § ° + and currencies) stay.
- An apostrophe or a hyphen stays between two of those, in its plain form: `geht’s` is `geht's`.
- `. , : /` stay between two digits: `3,5`, `1.000`, `10:30`, `2004/38`.
- A mark that parts words (dash, slash, quote, comma, ...) but is written without spaces becomes a hyphen:
  `und/oder` is `und-oder`. Any other mark vanishes: `z.B.` is `zb`, `Bürger(innen)` is `bürgerinnen`.
- Controls, lone surrogates, private use and `▁` vanish: nothing in a text can forge the end of a word.

The **target** is raw: `clean_word` only makes it safe (NFC, no controls, `▁` as `_`).

`part_joined_words` is for corpora alone: it puts the space where a speaker has a word boundary but the writer
has none (`Wort–Wort`). Streams never pass through it, because delays count their words as given (METHOD
section 2).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from turia.text.symbols import WORD_END

NORMALISATION = 1
"""The version of the source's rules. Raised when they change: a model must be run with those that it was trained on."""
_SPOKEN_SYMBOLS = frozenset("%‰&§°+")
_APOSTROPHES = frozenset("'’‘‛ʼʻ`´′＇")
_HYPHENS = frozenset("-‐‑‒–—―−﹘﹣－")
_BETWEEN_DIGITS = frozenset(".,:/")
# Quotes that open low are Unicode "open punctuation", like brackets, so they are named.
_PARTING = _HYPHENS | frozenset('/\\|,;!?…"“”„‟«»‹›‚=~<>→')
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})


def normalise(text: str) -> list[str]:
    """The source words of `text`; words that normalise to nothing are left out."""
    return [word for raw in text.split() if (word := normalise_word(raw))]


def normalise_word(word: str) -> str:
    """One stream word as a recogniser would give it, or the empty string. Idempotent."""
    # Long words are rare, and remembering them would let a stream fill the memory.
    return _normalise_short_word(word) if len(word) <= _LONGEST_REMEMBERED else _normalise_word(word)


def _normalise_word(word: str) -> str:
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).lower())
    kept: list[str] = []
    between = ""
    for letter in text:
        if not _stays(letter):
            between += letter
        elif kept:
            kept += (_joint(kept[-1], between, letter), letter)
            between = ""
        elif not unicodedata.category(letter).startswith("M"):
            kept.append(letter)
            between = ""
    return unicodedata.normalize("NFC", "".join(kept))


_LONGEST_REMEMBERED = 32
_normalise_short_word = lru_cache(maxsize=1 << 16)(_normalise_word)


def clean(text: str) -> list[str]:
    """The target words of `text`, raw but safe."""
    return [word for raw in text.split() if (word := clean_word(raw))]


def clean_word(word: str) -> str:
    """NFC; controls, surrogates and white space removed; `▁` becomes `_`. May be empty."""
    if word.isascii() and word.isprintable() and " " not in word:
        return word
    safe = "".join(letter for letter in word if unicodedata.category(letter) not in _DROPPED_CATEGORIES)
    return unicodedata.normalize("NFC", safe.replace(WORD_END, "_"))


_LETTER = r"[^\W\d_]"
_MARKS_BETWEEN_LETTERS = re.compile(rf"(?<={_LETTER})[-–—―/…;!?\"“”„«»,.:()]+(?={_LETTER})")
_PARTS_SPEECH = re.compile(r"--|\.\.|[–—―/…;!?\"“”„«»,]")
_JOINED_SENTENCES = re.compile(r"(?<=[a-zäöüß]{2})[.:](?=[A-ZÄÖÜ])")


def part_joined_words(text: str) -> str:
    """`text` with a space where dash, slash, quote or a missing space glue two spoken words together."""

    def part(marks: re.Match[str]) -> str:
        return f"{marks[0]} " if _PARTS_SPEECH.search(marks[0]) else marks[0]

    return _JOINED_SENTENCES.sub(r"\g<0> ", _MARKS_BETWEEN_LETTERS.sub(part, text))


def _stays(letter: str) -> bool:
    category = unicodedata.category(letter)
    return category[0] in "LMN" or category == "Sc" or letter in _SPOKEN_SYMBOLS


def _joint(left: str, between: str, right: str) -> str:
    """What is written between two letters that stay, for the marks `between` them."""
    visible = "".join(mark for mark in between if unicodedata.category(mark) not in _DROPPED_CATEGORIES)
    if not visible or unicodedata.category(right).startswith("M"):
        return ""
    if len(visible) == 1:
        if visible in _APOSTROPHES:
            return "'"
        if visible in _BETWEEN_DIGITS and left.isdecimal() and right.isdecimal():
            return visible
    return "-" if ".." in visible or any(mark in _PARTING for mark in visible) else ""
