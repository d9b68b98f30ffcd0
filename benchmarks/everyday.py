"""Translates the everyday sentences of tests/quality, and keeps how a reader rated what came out.

    python -m benchmarks.everyday de-en            # what the model writes now; `?` where nobody has rated it
    python -m benchmarks.everyday --page           # docs/everyday.md from the ratings that are kept

tests/quality/everyday.tsv has the sentences: field, German, English. everyday-de-en.tsv and everyday-en-de.tsv have a
line for each of them: the rating, from 0 (useless) to 5 (right), and the translation that was rated. Each sentence is a
stream of its own, and the model has its own policy and beam. Who rates a new model edits these files.
"""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from turia.runtime.translator import Translator
from turia.stream.trace import Write

QUALITY = Path("tests/quality")
PAGE = Path("docs/everyday.md")
DIRECTIONS = {"de-en": "German → English", "en-de": "English → German"}

ABOUT = """\
60 sentences in six fields were written before the models were trained. One of them stands in the dictionary that
the models learned from (*Are you allergic to penicillin?*), the others in no training text. One reader, who knew the
model, rated each translation from 0 (useless) to 5 (right). Each sentence is a stream of its own, with the model's
own policy and beam, in native code. `python -m benchmarks.everyday --page` writes this page.
"""


class Rated(NamedTuple):
    field: str
    said: str
    meant: str
    """A translation by a person."""
    written: str
    rating: int


def sentences(direction: str) -> list[tuple[str, str, str]]:
    """Field, source, and a translation by a person."""
    lines = (QUALITY / "everyday.tsv").read_text(encoding="utf-8").splitlines()
    rows = [tuple(line.split("\t")) for line in lines]
    return [
        (field, german, english) if direction == "de-en" else (field, english, german)
        for field, german, english in rows
    ]


def rated(direction: str) -> list[Rated]:
    """The sentences with what was written and rated."""
    lines = (QUALITY / f"everyday-{direction}.tsv").read_text(encoding="utf-8").splitlines()
    kept = [line.split("\t", 1) for line in lines]
    return [
        Rated(*sentence, written, int(rating))
        for sentence, (rating, written) in zip(sentences(direction), kept, strict=True)
    ]


def means(ratings: list[Rated]) -> dict[str, float]:
    """The mean rating of each field, and of all."""
    fields = {field: [one.rating for one in group] for field, group in groupby(ratings, lambda one: one.field)}
    everything = [one.rating for one in ratings]
    return {name: sum(found) / len(found) for name, found in {**fields, "all": everything}.items()}


def page() -> str:
    """All sentences of both directions with their ratings."""
    lines = [
        "# Everyday sentences, and what the models make of them",
        "",
        *ABOUT.splitlines(),
        "",
    ]
    found = {direction: rated(direction) for direction in DIRECTIONS}
    fields = list(means(found["de-en"]))
    lines += [f"| mean rating | {' | '.join(fields)} |", "|---" + "|---:" * len(fields) + "|"]
    for direction, name in DIRECTIONS.items():
        lines.append(f"| {name} | {' | '.join(f'{mean:.1f}' for mean in means(found[direction]).values())} |")
    for direction, name in DIRECTIONS.items():
        lines += ["", f"## {name}", "", "| field | said | written | rated |", "|---|---|---|---:|"]
        lines += [f"| {one.field} | {one.said} | {one.written} | {one.rating} |" for one in found[direction]]
    return "\n".join(lines) + "\n"


def translated(translator: Translator, sentence: str) -> str:
    stream = translator.stream()
    records = [record for word in sentence.split() for record in stream.push(word)] + stream.flush()
    return " ".join(record.word for record in records if isinstance(record, Write))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="a model's name or folder")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE}")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page(), encoding="utf-8")
    if options.model is None:
        return
    translator = Translator.load(options.model)
    direction = f"{translator.config.source_language}-{translator.config.target_language}"
    for one in rated(direction):
        now = translated(translator, one.said)
        print(f"{one.rating if now == one.written else '?'}\t{now}")


if __name__ == "__main__":
    main()
