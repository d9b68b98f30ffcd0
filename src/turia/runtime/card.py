"""A model's card, README.md: its front matter, and the text for people after it.

The front matter is lines `key: value` between two lines `---` at the very beginning; a key without a value is followed
by lines `- item`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from turia.errors import ModelError
from turia.runtime.folder import CARD_FILE


def read_card(folder: Path) -> str:
    """The card of a model folder, for whoever writes it again; nothing, if there is none."""
    path = folder / CARD_FILE
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not UTF-8 at byte {error.start}; save the card as UTF-8") from error


def shown_card(folder: Path) -> str:
    """The card of any folder, for whoever shows it; letters that are not UTF-8 are marked."""
    path = folder / CARD_FILE
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def front_matter(card: str) -> dict[str, tuple[str, ...]]:
    """What a card says in its front matter; nothing, if it has none."""
    found: dict[str, tuple[str, ...]] = {}
    for key, (first, *more) in front_lines(card).items():
        if key:
            value = first.partition(":")[2]
            items = [line.strip().removeprefix("- ") for line in more if line.strip().startswith("- ")]
            found[key] = tuple(map(_unquoted, [value, *items] if value.strip() else items))
    return found


def front_lines(card: str) -> dict[str, list[str]]:
    """The lines of each key as they are, whatever YAML they hold; under "" what comes before the first key."""
    found: dict[str, list[str]] = {}
    key = ""
    for line in _split(card)[0]:
        if ":" in line and not line.startswith((" ", "\t", "#", "-")):
            key = line.partition(":")[0].strip()
        found.setdefault(key, []).append(line)
    return found


def card_corpora(card: str) -> dict[str, str | None]:
    """The corpora that a card names, each with its licence where a line `- NAME: LICENCE` tells it."""
    lines = body(card).split("\n")
    found: dict[str, str | None] = {}
    for name in front_matter(card).get("data", ()):
        told = [line.removeprefix(f"- {name}: ").strip() for line in lines if line.startswith(f"- {name}: ")]
        found[name] = told[0] if told else None
    return found


def body(card: str) -> str:
    """What comes after the front matter."""
    return _split(card)[1]


def _split(card: str) -> tuple[list[str], str]:
    opening, *lines = card.split("\n")
    if opening.strip() != "---" or "---" not in map(str.strip, lines):
        return [], card
    matter = list(takewhile(lambda line: line.strip() != "---", lines))
    return matter, "\n".join(lines[len(matter) + 1 :]).lstrip("\n")


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    if value[0] == '"':
        # What `turia export --hub` writes, and most of what YAML allows.
        with suppress(ValueError):
            return str(json.loads(value))
    return value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1]
