"""What a glossary changes: the share of terms that are translated as it says, and BLEU.

    python benchmarks/terms.py --data ../shared/data

The glossary is made from a dev set and a dictionary: German nouns whose dictionary translation the reference uses
consistently. A term of a sentence counts if the reference has the glossary's translation; it is right if the output has
it too. Sentences are translated one by one, as streams of their own, with and without the glossary.

With `--unusual`, each term gets the translation of another one, which no model would give by itself, and the reference
has it too: BLEU then says what forcing a word into a sentence costs. A term is doubled if the output has both: the
translation of the glossary and, though the reference does not, the one of the dictionary, which the model gives by
itself.
"""

from __future__ import annotations

import argparse
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import sacrebleu

from turia.engine.backend import Steps
from turia.engine.batcher import run_together
from turia.engine.stream import Stream
from turia.runtime.translator import Translator
from turia.stream.trace import Write
from turia.text.glossary import Glossary, Term
from turia.text.normalise import normalise


class Pair(NamedTuple):
    source: str
    reference: str


def read_rows(path: Path) -> Iterator[list[str]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n").split("\t")


def has(text: Sequence[str], words: Sequence[str]) -> bool:
    """Whether normalised `text` has these words in a row."""
    length = len(words)
    return any(list(text[first : first + length]) == list(words) for first in range(len(text) - length + 1))


def make_glossary(
    pairs: Sequence[Pair], dictionary: Path, most: int, sentences: tuple[int, int], seed: int
) -> Glossary:
    """At most `most` nouns of the source that stand in so many sentences, from and to, and whose translation in the
    dictionary most of the references have."""
    least, greatest = sentences
    where: dict[str, list[int]] = defaultdict(list)
    references = [normalise(pair.reference) for pair in pairs]
    for number, pair in enumerate(pairs):
        for word in set(normalise(pair.source)):
            where[word].append(number)
    best: dict[str, tuple[int, Term]] = {}
    for _, german, english in read_rows(dictionary):
        key = german.lower()
        if len(german) < 5 or not german[0].isupper() or not german.isalpha() or len(english.split()) > 3:
            continue
        target = normalise(english)
        if not least <= len(where.get(key, ())) <= greatest or not target or not english.replace(" ", "").isalpha():
            continue
        agreeing = sum(has(references[number], target) for number in where[key])
        if agreeing >= 0.6 * len(where[key]) and agreeing > best.get(key, (0,))[0]:
            best[key] = agreeing, Term((german,), tuple(english.split()))
    terms = [term for _, term in sorted(best.values(), key=lambda found: str(found[1]))]
    return Glossary(random.Random(seed).sample(terms, min(most, len(terms))))


def unusual(
    glossary: Glossary, pairs: Sequence[Pair], seed: int
) -> tuple[Glossary, list[Pair], dict[tuple[str, ...], list[str]]]:
    """The terms of one word with each other's translations; the sentences that have one of them, with it; and the
    translations that the terms had before."""
    terms = [term for term in glossary.terms if len(term.target) == 1]
    others = [term.target for term in terms]
    random.Random(seed).shuffle(others)
    changed = {
        term: Term(term.source, other) for term, other in zip(terms, others, strict=True) if other != term.target
    }
    chosen = []
    for pair in pairs:
        found = [term for _, term in glossary.found(pair.source.split(), complete=True)]
        if len(found) == 1 and found[0] in changed:
            word = re.compile(rf"\b{found[0].translation}\b")
            if word.search(pair.reference):
                chosen.append(Pair(pair.source, word.sub(changed[found[0]].translation, pair.reference)))
    usual = {new.source: [word for part in old.target for word in normalise(part)] for old, new in changed.items()}
    return Glossary(list(changed.values())), chosen, usual


def doubled(
    glossary: Glossary, usual: Mapping[tuple[str, ...], list[str]], pairs: Sequence[Pair], outputs: Sequence[str]
) -> int:
    """How many terms are there twice: as the glossary has them, and as the model would have said."""
    count = 0
    for pair, output in zip(pairs, outputs, strict=True):
        reference, written = normalise(pair.reference), normalise(output)
        for term in {term for _, term in glossary.found(pair.source.split(), complete=True)}:
            own = usual[term.source]
            count += has(written, normalise(term.translation)) and has(written, own) and not has(reference, own)
    return count


def translated(stream: Stream, source: str) -> Steps[str]:
    records = []
    for word in source.split():
        records += yield from stream.push_steps(word)
    records += yield from stream.flush_steps()
    return " ".join(record.word for record in records if isinstance(record, Write))


def shares(glossary: Glossary, pairs: Sequence[Pair], outputs: Sequence[str]) -> tuple[int, int, int]:
    """Terms that count; those that are right; and translations that are there more often than in the reference."""
    terms = right = extra = 0
    for pair, output in zip(pairs, outputs, strict=True):
        reference, written = normalise(pair.reference), normalise(output)
        for term in {term for _, term in glossary.found(pair.source.split(), complete=True)}:
            target = [word for part in term.target for word in normalise(part)]
            if has(reference, target):
                terms += 1
                right += has(written, target)
            extra += len(target) == 1 and written.count(target[0]) > max(1, reference.count(target[0]))
    return terms, right, extra


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--test", default="europarl-st/deen.dev.tsv.xz", help="a dev set, below --data")
    parser.add_argument("--model", default="de-en")
    parser.add_argument("--policy", default="wait-k:k=8")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--terms", type=int, default=200)
    parser.add_argument("--in-sentences", type=int, nargs=2, default=(2, 5), help="that a term may stand in: from, to")
    parser.add_argument("--unusual", action="store_true", help="give the terms translations that no model would")
    parser.add_argument("--sentences", type=int, default=300, help="of either kind: with terms, and without")
    parser.add_argument("--skip", type=int, default=0, help="sentences of either kind to leave out, from the first on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="outputs that differ, to be looked at")
    options = parser.parse_args()
    pairs = [Pair(*row[1:]) for row in read_rows(options.data / options.test) if row[1].split() and row[2].split()]
    dictionary = options.data / "dictionary/words.tsv.xz"
    glossary = make_glossary(pairs, dictionary, options.terms, tuple(options.in_sentences), options.seed)
    usual: dict[tuple[str, ...], list[str]] = {}
    if options.unusual:
        glossary, pairs, usual = unusual(glossary, pairs, options.seed)
    having = [any(glossary.found(pair.source.split(), complete=True)) for pair in pairs]
    part = slice(options.skip, options.skip + options.sentences)
    chosen = {
        "with terms": [pair for pair, has_one in zip(pairs, having, strict=True) if has_one][part],
        "without terms": [pair for pair, has_one in zip(pairs, having, strict=True) if not has_one][part],
    }
    translator = Translator.load(options.model, streams=32)
    print(f"{len(glossary)} terms, {options.policy}, beam {options.beam}")
    for kind, sentences in chosen.items():
        if not sentences:
            continue
        outputs: dict[str, list[str]] = {}
        for name, used in (("no glossary", None), ("glossary", glossary)):
            outputs[name] = []
            for begin in range(0, len(sentences), 32):
                work = [
                    translated(
                        translator.stream(policy=options.policy, beam=options.beam, punctuation=True, glossary=used),
                        pair.source,
                    )
                    for pair in sentences[begin : begin + 32]
                ]
                outputs[name] += run_together(work, translator.model.backend)
            terms, right, extra = shares(glossary, sentences, outputs[name])
            bleu = sacrebleu.corpus_bleu(outputs[name], [[pair.reference for pair in sentences]]).score
            share = f"{right}/{terms} = {right / terms:.1%}, {extra} too many" if terms else "none"
            if options.unusual:
                share += f", {doubled(glossary, usual, sentences, outputs[name])} doubled"
            print(f"{kind:13} {name:11} {len(sentences)} sentences  BLEU {bleu:5.2f}  terms right {share}", flush=True)
        differing = [
            (pair, *both) for pair, *both in zip(sentences, *outputs.values(), strict=True) if both[0] != both[1]
        ]
        print(f"{kind:13} {len(differing)} outputs differ")
        for pair, before, after in differing[: options.show]:
            found = ", ".join(f"{term} → {term.translation}" for _, term in glossary.found(pair.source.split(), True))
            print(f"  {found}\n    {pair.source}\n    {pair.reference}\n  - {before}\n  + {after}")


if __name__ == "__main__":
    main()
