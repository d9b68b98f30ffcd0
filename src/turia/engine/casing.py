"""Case and full stops for models of written text, where a recogniser gives neither.

A model that was trained on written text has pieces for words as they are written: many nouns of German are one piece
with a capital, and several without. So a word gets a capital if the model has fewer pieces for it so. The first word of
a sentence has one in any case, and the last word gets a full stop. What comes with capitals or marks stays as it is.
"""

from __future__ import annotations

from turia.text.subwords import Subwords

FULL_STOP = "."


def recased(word: str, subwords: Subwords, *, begins: bool, ends: bool) -> str:
    """The word as it would be written; whether it begins or ends a sentence."""
    if word == word.lower():
        written = word[:1].upper() + word[1:]
        if begins or len(subwords.encode_word(written)) < len(subwords.encode_word(word)):
            word = written
    return word + FULL_STOP if ends and word[-1:].isalnum() else word
