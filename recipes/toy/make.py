"""Writes the toy corpus of `recipes/tiny.toml`: copying with every pair of neighbours swapped.

A language nobody speaks, but with the trouble of real ones: words of several subwords, another order on the other side,
upper case and a full stop that the source does not show. Wait-k needs k = 2 to get it right.
"""

from __future__ import annotations

import random
from pathlib import Path

SYLLABLES = ("ba", "do", "fi", "gu", "ke", "lo", "mi", "nu", "ra", "se", "ti", "vo")
DOCUMENTS, SENTENCES, DEV_DOCUMENTS = 400, 8, 6


def swapped(words: list[str]) -> list[str]:
    """b a d c ... for a b c d ...; an odd word out stays at the end."""
    swapped_words: list[str] = []
    for start in range(0, len(words), 2):
        swapped_words += reversed(words[start : start + 2])
    return swapped_words


def main() -> None:
    rng = random.Random(1)
    words = sorted({"".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(60)})
    for name, documents in (("train", DOCUMENTS), ("dev", DEV_DOCUMENTS)):
        source, target = [], []
        for _ in range(documents):
            for _ in range(SENTENCES):
                sentence = rng.choices(words, k=rng.randint(2, 8))
                source.append(" ".join(sentence))
                target.append(" ".join(swapped(sentence)).capitalize() + ".")
            source.append("")
            target.append("")
        folder = Path(__file__).parent
        (folder / f"{name}.source").write_text("\n".join(source) + "\n", encoding="utf-8")
        (folder / f"{name}.target").write_text("\n".join(target) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
