"""What comes through of numbers and names: of those that source and reference share, how many the output has.

    python -m benchmarks.copied de-en --dev ../shared/data/ted/dev2010.tsv.xz [--policy whole ...] [--show 20]

A number counts by its digits, whatever marks are between them: 1.250, 1,250 and 1 250 are one. A name is a word that
English writes with a capital inside a sentence and that both languages spell alike. Sentence ends are those of the
reference, each document is a stream, and the model has its own policy and beam. Words come as a recogniser gives them
that knows neither case nor punctuation; with `--written`, as the corpus has them.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.casing import translated
from benchmarks.int8 import TOGETHER, dev_documents
from turia.runtime.translator import Translator
from turia.text.normalise import normalise

_NUMBER = re.compile(r"\d+(?:[.,:]\d+| \d{3}(?!\d))*")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_BEFORE_A_SENTENCE = ".?!:;\"“”„'‘’-–—(["
_SHORTEST_NAME = 3


class Sentence(NamedTuple):
    source: str
    reference: str
    output: str


class Share(NamedTuple):
    """Of what should have come through, what has."""

    wanted: Counter[str]
    found: Counter[str]

    @property
    def lost(self) -> list[str]:
        return list((self.wanted - self.found).elements())


def numbers(text: str) -> Counter[str]:
    """The digits of each number."""
    return Counter(re.sub(r"\D", "", number) for number in _NUMBER.findall(text))


def words(text: str) -> Counter[str]:
    """In lower case."""
    return Counter(word.lower() for word in _WORD.findall(text))


def names(english: str, other: str) -> Counter[str]:
    """Words with a capital that begin no sentence of `english` and that `other` has as often; in lower case."""
    called: Counter[str] = Counter()
    for match in _WORD.finditer(english):
        before = english[: match.start()].rstrip()
        inside = before != "" and before[-1] not in _BEFORE_A_SENTENCE
        if inside and match[0][0].isupper() and len(match[0]) >= _SHORTEST_NAME:
            called[match[0].lower()] += 1
    return called & words(other)


def number_share(sentence: Sentence) -> Share:
    wanted = numbers(sentence.source) & numbers(sentence.reference)
    return Share(wanted, wanted & numbers(sentence.output))


def name_share(sentence: Sentence, from_english: bool) -> Share:
    pair = (sentence.source, sentence.reference)
    wanted = names(*(pair if from_english else pair[::-1]))
    return Share(wanted, wanted & words(sentence.output))


def summary(shares: Sequence[Share]) -> str:
    """Such as `90/100 = 90.0%`."""
    wanted, found = sum(share.wanted.total() for share in shares), sum(share.found.total() for share in shares)
    return f"{found}/{wanted}" + (f" = {found / wanted:.1%}" if wanted else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--dev", type=Path, nargs="+", required=True, help="document, then columns parted by tabs")
    parser.add_argument("--sentences", type=int, default=0, help="the first so many of each; 0 takes all")
    parser.add_argument("--policy", nargs="+", help="in place of the model's own")
    parser.add_argument("--written", action="store_true", help="words with their case and punctuation")
    parser.add_argument("--unspelt", action="store_true", help="names as the model spells them (docs/terms.md)")
    parser.add_argument("--show", type=int, default=0, help="sentences that lost some, to be looked at")
    options = parser.parse_args()
    translator = Translator.load(options.model, streams=TOGETHER)
    if options.unspelt:
        translator.model = replace(translator.model, names=None)
    from_english = translator.config.source_language == "en"
    for path in options.dev:
        documents = dev_documents(path, translator, options.sentences)
        # A sentence of marks alone has no spoken words, but has its place.
        given = [
            [sentence.split() if options.written else normalise(sentence) or ["-"] for sentence in document.source]
            for document in documents
        ]
        for policy in options.policy or [None]:
            outputs = iter(translated(translator, given, policy, beam=None))
            sentences = [
                Sentence(source, reference, next(outputs))
                for document in documents
                for source, reference in zip(document.source, document.target, strict=True)
            ]
            of_numbers = [number_share(sentence) for sentence in sentences]
            of_names = [name_share(sentence, from_english) for sentence in sentences]
            label = policy or "the model's policy"
            print(f"{path.name}, {label}: numbers {summary(of_numbers)}, names {summary(of_names)}", flush=True)
            lost = [[*number.lost, *name.lost] for number, name in zip(of_numbers, of_names, strict=True)]
            losing = [(missing, *sentence) for missing, sentence in zip(lost, sentences, strict=True) if missing]
            for missing, source, reference, output in losing[: options.show]:
                print(f"  {', '.join(missing)}\n    {source}\n    {reference}\n  - {output}")


if __name__ == "__main__":
    main()
