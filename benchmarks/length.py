"""Whether a beam's translations are too short: BLEU and length with several penalties of length, in one run.

    python -m benchmarks.length MODEL CORPUS [--sentences 300] [--k 8] [--beam 4] [--penalty 0.8 1 1.2 1.5 2]

When a sentence is complete, the beam compares continuations by log-probability / pieces ** penalty. 1, the mean, is
what Turia does; more prefers longer ones. The penalty has no part in how hypotheses grow, only in when the search ends
and which of them wins. So one search tells what each penalty would have chosen, and all are measured on the same words
before it. The sentences are the corpus's, each a stream by itself, without history.

    python -m benchmarks.length FOLDER CORPUS --store 1.5

measures nothing, but stores a penalty in the config.json of a model folder (`length_penalty`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from turia.config import Corpus
from turia.engine.backend import Steps
from turia.engine.beam import PLANNED_PER_WORD, BeamSearch, Hypothesis
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.writer import Writer
from turia.evaluation.quality import bleu, paired_p_values
from turia.experiments.jobs import Job, translate_all
from turia.formats.documents import read
from turia.runtime.folder import load_folder, write_config, write_sums
from turia.runtime.translator import Translator, find_model
from turia.segmenter.online import GivenSegmenter
from turia.text.symbols import STOPPING_IDS

TOGETHER = 8


def penalised(hypothesis: Hypothesis, penalty: float) -> float:
    return float(hypothesis.score / max(1, len(hypothesis.pieces)) ** penalty)


@dataclass
class Choice:
    """`BeamSearch._best` for one penalty, fed with the steps of a search that all penalties share."""

    penalty: float
    width: int
    most: int
    ended: Hypothesis | None = None
    ends: int = 0
    best: Hypothesis | None = None

    def see(self, search: BeamSearch, grown: Sequence[Hypothesis]) -> None:
        if self.best is not None:
            return
        alive = [one for one in grown if not one.ended]
        new = [one for one in grown if one.ended]
        self.ended = max([*new, *([self.ended] if self.ended else [])], key=self.score, default=None)
        if self.ends < self.width <= self.ends + len(new):
            self.most = min(self.most, 2 * len(grown[0].pieces) + PLANNED_PER_WORD)
        self.ends += len(new)
        enough = self.ended is not None and self.ends >= self.width
        over = not alive or (len(grown[0].pieces) >= self.most and search._has_word(alive[0]))
        if over or (self.ended and enough and self.score(alive[0]) < self.score(self.ended)):
            whole = [] if enough else [one for one in alive if search._has_word(one)]
            self.best = max([*whole, *([self.ended] if self.ended else [])], key=self.score)

    def score(self, hypothesis: Hypothesis) -> float:
        return penalised(hypothesis, self.penalty)


@dataclass
class Experiment:
    """What each penalty would have written, sentence by sentence."""

    penalties: Sequence[float]
    owners: dict[int, int] = field(default_factory=dict)
    """The sentence of each stream's settings."""
    kept: list[Settings] = field(default_factory=list)
    found: dict[int, dict[float, str]] = field(default_factory=dict)

    def best(self, search: BeamSearch, start: Hypothesis) -> Steps[Hypothesis]:
        """In place of `BeamSearch._best`."""
        writer = search.rules
        assert isinstance(writer, Writer)
        penalties = self.penalties if writer.closing is not None else (1.0,)
        choices = [Choice(penalty, search.width, search.most) for penalty in penalties]
        alive = [start]
        while True:
            grown = search._grown(alive)
            for choice in choices:
                choice.see(search, grown)
            if all(choice.best for choice in choices):
                break
            alive = yield from search._decode([one for one in grown if not one.ended])
        usual = next(choice.best for choice in choices if choice.penalty == 1)
        assert usual is not None
        if writer.closing is not None:
            for choice in choices:
                assert choice.best is not None
                pieces = [one for one in search._whole_words(choice.best).pieces if one not in STOPPING_IDS]
                words = writer.model.target_subwords.decode_words([*writer.target.ids, *pieces])
                # Only of the first plan: with it, the others have left the common path.
                own = self.found.setdefault(self.owners[id(writer.settings)], {})
                own.setdefault(choice.penalty, " ".join(words))
        return usual

    def job(self, translator: Translator, number: int, words: Sequence[str], k: int, beam: int) -> Job:
        def begin() -> Stream:
            stream = translator.stream(k=k, beam=beam, history=0, segmenter=GivenSegmenter([len(words)]))
            self.owners[id(stream.settings)] = number
            self.kept.append(stream.settings)
            return stream

        return Job(begin, words)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path, help="dev set: a tsv file, plain or compressed")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--penalty", type=float, nargs="+", default=[0.8, 1.0, 1.2, 1.5, 2.0])
    parser.add_argument("--store", type=float, help="store this penalty in the model folder, and measure nothing")
    arguments = parser.parse_args()
    if arguments.store is not None:
        folder = find_model(arguments.model)
        write_config(replace(load_folder(folder).config, length_penalty=arguments.store), folder)
        write_sums(folder)
        return
    translator = Translator.load(arguments.model)
    documents = read(Corpus(path=arguments.corpus), *translator.model.languages, held_out=True)
    every = (pair for one in documents for pair in zip(one.source, one.target, strict=True))
    pairs = list(islice(every, arguments.sentences))
    penalties = sorted({1.0, *arguments.penalty})
    experiment = Experiment(penalties)
    # The method that is measured stays private: nobody else needs to replace it.
    setattr(BeamSearch, "_best", lambda search, start: experiment.best(search, start))  # noqa: B010
    jobs = [
        experiment.job(translator, number, source.split(), arguments.k, arguments.beam)
        for number, (source, _) in enumerate(pairs)
    ]
    translate_all(jobs, translator.model.backend, TOGETHER, lambda words: None)
    references = [target for _, target in pairs]
    hypotheses = {p: [experiment.found.get(n, {}).get(p, "") for n in range(len(pairs))] for p in penalties}
    length = sum(len(line.split()) for line in references)
    others = [hypotheses[p] for p in penalties if p != 1]
    chance = dict(
        zip((p for p in penalties if p != 1), paired_p_values(hypotheses[1.0], others, references, 1000), strict=True)
    )
    print(f"{arguments.corpus.name}: {len(pairs)} sentences, k = {arguments.k}, beam {arguments.beam}")
    print("| penalty | BLEU | length | other sentences | p |\n|---:|---:|---:|---:|---:|")
    for penalty, lines in hypotheses.items():
        words = sum(len(line.split()) for line in lines)
        other = sum(one != two for one, two in zip(lines, hypotheses[1.0], strict=True))
        p = f"{chance[penalty]:.3f}" if penalty in chance else ""
        print(f"| {penalty:g} | {bleu(lines, references).value:.2f} | {words / length:.3f} | {other} | {p} |")


if __name__ == "__main__":
    main()
