"""The words that a language has, as far as a corpus shows them: a list in a file, the most frequent word first.

source.words.txt
target.words.txt    one word a line: letters alone, in lower case, UTF-8
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from turia.errors import ModelError

FILES = ("source.words.txt", "target.words.txt")
MOST_WORDS, LEAST_COUNT = 65_000, 2
"""Words of a list, and how often a corpus must have each: what it has once may be misspelt."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def known_words(counts: Mapping[str, int]) -> list[str]:
    """The words of a corpus, by how often it has each of its tokens."""
    found = Counter[str]()
    for token, count in counts.items():
        for word in _LETTERS.findall(token):
            found[word.lower()] += count
    # Of equally frequent words the first in the alphabet, so that the list depends on the counts alone.
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [word for word, count in ordered[:MOST_WORDS] if count >= LEAST_COUNT]


def write_words(folder: Path, source: Mapping[str, int], target: Mapping[str, int]) -> None:
    """The lists of both sides, from the counts of their tokens."""
    for name, counts in zip(FILES, (source, target), strict=True):
        text = "".join(f"{word}\n" for word in known_words(counts))
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def read_words(path: Path) -> frozenset[str]:
    """The words of a list."""
    try:
        return frozenset(path.read_text(encoding="utf-8").split())
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not UTF-8: {error}") from error


def take_words(origin: Path, folder: Path) -> None:
    """Puts the lists of `origin` into `folder`. Where it has none, as after an older release, none stay there."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    for file in word_files(origin):
        shutil.copyfile(file, folder / file.name)


def word_files(folder: Path) -> list[Path]:
    """The lists in a folder: of both sides, or none."""
    files = [folder / name for name in FILES]
    return files if all(file.is_file() for file in files) else []


def given_word_files(folder: Path) -> list[Path]:
    """The lists in a folder that somebody has named for them."""
    if not (files := word_files(folder)):
        raise ModelError(f"{folder}: no {' and '.join(FILES)}; expected data that `turia prepare` has made, or a run")
    for file in files:
        read_words(file)
    return files
