"""What `--target-lag` does when a speaker's pace doubles half-way.

    python -m benchmarks.pace MODEL CORPUS [--target 2.5s] [--k 4] [--minutes 3] [--plot FILE.svg]

The sentences of a corpus are spoken at 2 words a second, then at 4. They are translated twice: with wait-k at a fixed
k, and with the same policy and a target lag. For every half minute it prints the mean lag of both (AL of the sentences
that end there, in words and in seconds) and the k that the controller came to. Sentence ends are given.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from turia.config import Corpus
from turia.formats.documents import read
from turia.policy.lag import sentence_lag
from turia.policy.waitk import WaitK
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Record, Write

PACES = (2.0, 4.0)
STRETCH = 30.0
"""Seconds of a row."""


@dataclass(frozen=True)
class Spoken:
    """A sentence, and when each of its words is spoken."""

    words: list[str]
    times: list[float]
    pace: float


@dataclass(frozen=True)
class Lag:
    """Of one sentence."""

    at: float
    """Second of its last word."""
    source_words: int
    words: float
    seconds: float
    k: int


def spoken(lines: Sequence[str], minutes: float) -> list[Spoken]:
    """Sentences for so many minutes, the second half of them twice as fast."""
    clock, found = 0.0, []
    for line in lines:
        if clock >= 60 * minutes:
            break
        pace = PACES[clock >= 30 * minutes]
        words = line.split()
        found.append(Spoken(words, [clock + (place + 1) / pace for place in range(len(words))], pace))
        clock = found[-1].times[-1]
    return found


def lags(translator: Translator, sentences: Sequence[Spoken], k: int, target: str | None) -> list[Lag]:
    """Of each sentence that got words."""
    segmenter = GivenSegmenter([len(one.words) for one in sentences])
    stream = translator.stream(k=k, beam=1, target_lag=target, segmenter=segmenter)
    found, begun = [], 0
    for number, sentence in enumerate(sentences):
        records: list[Record] = []
        for word, seconds in zip(sentence.words, sentence.times, strict=True):
            records += stream.push(word, seconds)
        policy = stream.settings.policy
        assert isinstance(policy, WaitK)
        delays = [one.read - begun for one in records if isinstance(one, Write) and one.sentence == number]
        if delays:
            lag = sentence_lag(delays, len(sentence.words))
            found.append(Lag(sentence.times[-1], len(sentence.words), lag, lag / sentence.pace, policy.k))
        begun += len(sentence.words)
    return found


def mean(own: Sequence[Lag], unit: str) -> float:
    total = sum(one.source_words for one in own)
    return sum(one.source_words * getattr(one, unit) for one in own) / total if total else float("nan")


def plot(fixed: Sequence[Lag], kept: Sequence[Lag], target: str, minutes: float, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.2), layout="constrained")
    for own, name in ((fixed, f"k = {fixed[0].k}"), (kept, f"target lag {target}")):
        axes.plot([one.at / 60 for one in own], [one.seconds for one in own], ".", markersize=3, alpha=0.4)
        window = [[other for other in own if one.at - 30 <= other.at <= one.at] for one in own]
        line = [mean(recent, "seconds") for recent in window]
        axes.plot([one.at / 60 for one in own], line, label=name, color=axes.lines[-1].get_color())
    axes.axvline(minutes / 2, color="grey", linestyle=":", label="pace doubles")
    axes.set(xlabel="minutes", ylabel="seconds behind the speaker", ylim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", help="a model's name or folder")
    parser.add_argument("corpus", type=Path, help="a tsv file, plain or compressed")
    parser.add_argument("--target", default="2.5s", help="words (5) or seconds (2.5s)")
    parser.add_argument("--k", type=int, default=4, help="fixed, and where the controller begins")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    translator = Translator.load(arguments.model)
    documents = read(Corpus(path=arguments.corpus), *translator.model.languages, held_out=True)
    sentences = spoken([line for document in documents for line in document.source], arguments.minutes)
    fixed = lags(translator, sentences, arguments.k, None)
    kept = lags(translator, sentences, arguments.k, arguments.target)
    print(
        f"| minutes | words/s | k = {arguments.k}: words | seconds | target {arguments.target}: words | seconds | k |"
    )
    print("|---|---|---|---|---|---|---|")
    begin = 0.0
    while begin < 60 * arguments.minutes:
        end = begin + STRETCH
        own, other = ([one for one in side if begin < one.at <= end] for side in (fixed, kept))
        pace = PACES[end > 30 * arguments.minutes]
        if own and other:
            cells = [mean(own, "words"), mean(own, "seconds"), mean(other, "words"), mean(other, "seconds")]
            shown = " | ".join(f"{cell:.1f}" for cell in cells)
            print(f"| {begin / 60:.1f} to {end / 60:.1f} | {pace:g} | {shown} | {mean(other, 'k'):.1f} |")
        begin = end
    if arguments.plot is not None:
        plot(fixed, kept, arguments.target, arguments.minutes, arguments.plot)


if __name__ == "__main__":
    main()
