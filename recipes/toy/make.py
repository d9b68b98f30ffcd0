"""Writes the toy corpus of `recipes/tiny.toml`: copying, with adjectives moved before their nouns.

A language nobody speaks, but with the trouble of real ones: words of several subwords, another order on the other side,
upper case and a full stop that the source does not show. Wait-k needs k = 2 to get it right.
"""

from __future__ import annotations

import random
from pathlib import Path

NOUNS = (
    "bado",
    "fido",
    "gudo",
    "kelodo",
    "mido",
    "nurado",
    "sedo",
    "tivodo",
    "lomido",
    "vodo",
    "rado",
    "tasedo",
)
ADJECTIVES = ("bari", "dofiri", "guri", "keri", "lori", "minuri", "rari", "setiri", "vori", "tari")
DOCUMENTS, SENTENCES = {"train": 600, "dev": 6}, 8


def phrase(rng: random.Random) -> list[str]:
    """A noun, two times out of three with its adjective behind it."""
    noun = rng.choice(NOUNS)
    return [noun, rng.choice(ADJECTIVES)] if rng.random() < 2 / 3 else [noun]


def pair(rng: random.Random) -> tuple[str, str]:
    """A source sentence and its translation."""
    phrases = [phrase(rng) for _ in range(rng.randint(1, 4))]
    source = " ".join(word for words in phrases for word in words)
    target = " ".join(word for words in phrases for word in reversed(words))
    return source, target.capitalize() + "."


def main() -> None:
    rng = random.Random(1)
    folder = Path(__file__).parent
    for name, documents in DOCUMENTS.items():
        lines: list[tuple[str, str]] = []
        for _ in range(documents):
            lines += [pair(rng) for _ in range(SENTENCES)] + [("", "")]
        for side, part in enumerate(("source", "target")):
            text = "".join(line[side] + "\n" for line in lines)
            (folder / f"{name}.{part}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
