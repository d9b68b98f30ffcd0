"""Running text in one language as documents of sentences.

What is read aloud stays as it was written; stage directions such as `(Laughter)` go. A document that is not in its
language is left out: collections from the web hold some.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from turia.formats.documents import read_monolingual
from turia.text.sentence_ends import sentences

_CUE = re.compile(r"\([A-Z][^()]{0,60}\)")
_LANGUAGE_FROM_WORDS = 20
"""Shorter texts are too uncertain: they are kept."""
_LOOKED_AT = 5000
"""Letters, from the middle of a text: enough to tell its language."""


@dataclass(frozen=True)
class Text:
    """A document as it lies in its file."""

    id: str
    written: str


def read_texts(path: Path, words: int) -> Iterator[list[Text]]:
    """The documents of a file of `id<TAB>text` lines, in order and in groups of about so many words.

    Two lines with the same id are two documents. Their ids are made different, so that they are not taken for one:
    what is between them may be left out.
    """
    group: list[Text] = []
    held = 0
    seen: set[str] = set()
    for number, (name, written) in enumerate(read_monolingual(path), start=1):
        group.append(Text(f"{name}#{number}" if name in seen else name, written))
        seen.add(name)
        held += written.count(" ") + 1
        if held >= words:
            yield group
            group, held = [], 0
    if group:
        yield group


def spoken_sentences(written: str, language: str) -> list[str]:
    """The sentences of a text as they were written, without stage directions."""
    return [" ".join(words) for words in sentences(without_cues(written).split(), language)]


def without_cues(written: str) -> str:
    return _CUE.sub(" ", written)


def is_other_language(text: str, language: str) -> bool:
    """Whether a whole text is in another language than it should be, of all that py3langid knows."""
    identifier = _identifier()
    if language not in identifier.labels or len(text.split()) < _LANGUAGE_FROM_WORDS:
        return False
    begin = max(0, (len(text) - _LOOKED_AT) // 2)
    found, _ = identifier.classify(text[begin : begin + _LOOKED_AT])
    return bool(found != language)


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
