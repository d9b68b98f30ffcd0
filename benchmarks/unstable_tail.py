"""What a recogniser's partial hypotheses win: seconds, and what they change, with a recogniser that is made up.

    python -m benchmarks.unstable_tail CORPUS [--model de-en] [--policy wait-k:k=4 ...] [--sentences 40]
                                       [--beam 1] [--lag 4] [--wrong 0 0.1 0.3]

The speaker says 2.5 words a second. The recogniser makes a word final when `lag` more words have been said; until then
the word is in the tail, which is shown anew with each word. The newest word of each tail is a wrong one with the
probability `wrong`, the one before it with half of that, and so on: every tail is drawn afresh, so words flicker.
Sentence ends are the corpus's, found 2 words late as by the model's segmenter.

`won` is how much earlier a word is written, on average over the sentences' words. `other words` is the edit distance
between the translations with and without partials, in % of the words. `cost` is the time of the computer with partials
over that without.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from turia.config import Corpus
from turia.evaluation.quality import bleu
from turia.formats.documents import read
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Record, Write, words_by_sentence
from turia.text.normalise import normalise

WORDS_PER_SECOND = 2.5
WINDOW = 2


@dataclass(frozen=True)
class Speech:
    """Sentences that follow one another, and their references."""

    source: list[list[str]]
    references: list[str]

    @property
    def words(self) -> list[str]:
        return [word for sentence in self.source for word in sentence]


@dataclass(frozen=True)
class Run:
    """A translation, and after how many spoken words each of its words came."""

    sentences: list[list[str]]
    spoken: list[list[int]]
    seconds: float


def load(path: Path, languages: tuple[str, str], sentences: int) -> Speech:
    documents = read(Corpus(path), *languages)
    pairs = (pair for document in documents for pair in zip(document.source, document.target, strict=True))
    spoken = ((normalise(source), target) for source, target in pairs)
    chosen = list(islice(((words, target) for words, target in spoken if words), sentences))
    return Speech([words for words, _ in chosen], [target for _, target in chosen])


def tails(words: Sequence[str], lag: int, wrong: float, seed: int) -> Iterator[tuple[str | None, list[str]]]:
    """For each spoken word, the word that thereby becomes final, if any, and the tail behind it."""
    rng = random.Random(seed)
    for spoken in range(1, len(words) + lag + 1):
        final = words[spoken - lag - 1] if spoken > lag else None
        said = list(words[max(0, spoken - lag) : spoken])
        for age in range(len(said)):
            if rng.random() < wrong / 2**age:
                said[-1 - age] = rng.choice(words)
        yield final, said


def run(translator: Translator, speech: Speech, policy: str, beam: int, lag: int, wrong: float | None) -> Run:
    """`wrong` is None to leave the partials out."""
    segmenter = GivenSegmenter([len(sentence) for sentence in speech.source], WINDOW)
    stream = translator.stream(policy=policy, segmenter=segmenter, beam=beam)
    records: list[Record] = []
    times: list[int] = []
    began = time.process_time()
    for spoken, (final, tail) in enumerate(tails(speech.words, lag, wrong or 0.0, seed=1), start=1):
        new = [] if final is None else stream.push(final)
        if wrong is not None:
            new += stream.push_partial(" ".join(tail)).records
        times += [spoken] * sum(isinstance(record, Write) for record in new)
        records += new
    new = stream.flush()
    times += [len(speech.words) + lag] * sum(isinstance(record, Write) for record in new)
    records += new
    seconds = time.process_time() - began
    sentences = words_by_sentence(records, len(speech.source))
    counts = iter(times)
    return Run(sentences, [[next(counts) for _ in words] for words in sentences], seconds)


def seconds_won(early: Run, late: Run) -> float:
    """Mean of the sentences' mean times, by words of the later run."""
    pairs = [(a, b) for a, b in zip(early.spoken, late.spoken, strict=True) if a and b]
    won = sum(len(b) * (sum(b) / len(b) - sum(a) / len(a)) for a, b in pairs)
    return won / sum(len(b) for _, b in pairs) / WORDS_PER_SECOND


def edits(one: Sequence[str], other: Sequence[str]) -> int:
    """Words to insert, delete or replace."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(other, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", default="de-en")
    parser.add_argument("--policy", nargs="+", default=["wait-k:k=4", "hold-n:n=3"])
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--lag", type=int, default=4)
    parser.add_argument("--wrong", type=float, nargs="+", default=[0.0, 0.1, 0.3])
    options = parser.parse_args()
    translator = Translator.load(options.model)
    speech = load(options.corpus, translator.model.languages, options.sentences)
    print(f"{len(speech.source)} sentences, {len(speech.words)} words, recogniser {options.lag} words late")
    print(f"{'policy':<14} {'wrong':>6} {'won':>8} {'other words':>12} {'BLEU':>6} {'cost':>6}")
    for policy in options.policy:
        without = run(translator, speech, policy, options.beam, options.lag, None)
        score = bleu([" ".join(words) for words in without.sentences], speech.references).value
        print(f"{policy:<14} {'none':>6} {'':>8} {'':>12} {score:>6.1f} {'1.0':>6}")
        for wrong in options.wrong:
            found = run(translator, speech, policy, options.beam, options.lag, wrong)
            score = bleu([" ".join(words) for words in found.sentences], speech.references).value
            pairs = zip(found.sentences, without.sentences, strict=True)
            other = 100 * sum(edits(*pair) for pair in pairs) / sum(map(len, without.sentences))
            won, cost = seconds_won(found, without), found.seconds / without.seconds
            print(f"{policy:<14} {wrong:>6} {won:>6.2f} s {other:>10.1f} % {score:>6.1f} {cost:>6.1f}", flush=True)


if __name__ == "__main__":
    main()
