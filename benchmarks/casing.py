"""What a model of written text loses on words without case and punctuation, and what `--recase` gives back.

    python -m benchmarks.casing turia-offline-de-en --dev deen.dev.tsv.xz [--sentences 350] [--policy whole ...]

Each form of the source is translated with the reference's sentences, and BLEU is computed with sacrebleu:

| form | words |
|---|---|
| written | as the corpus has them |
| spoken | as a recogniser gives them that knows neither case nor punctuation |
| recased | spoken, to a model that was added with `--recase` (turia/engine/casing.py) |
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU

from benchmarks.int8 import TOGETHER, dev_documents
from turia.engine.stream import Stream
from turia.experiments.jobs import Job, translate_all
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import words_by_sentence
from turia.text.normalise import normalise

FORMS = ("written", "spoken", "recased")
Sentences = list[list[str]]


def translated(
    translator: Translator, documents: list[Sentences], policy: str | None, beam: int | None = 1
) -> list[str]:
    """The translation of each sentence; without policy or beam, with the model's own."""

    def job(sentences: Sentences) -> Job:
        def begin() -> Stream:
            return translator.stream(
                policy=policy, history=0, beam=beam, segmenter=GivenSegmenter([len(words) for words in sentences])
            )

        return Job(begin, [word for words in sentences for word in words])

    traces = translate_all([job(one) for one in documents], translator.model.backend, TOGETHER, lambda _: None)
    return [
        " ".join(words)
        for sentences, trace in zip(documents, traces, strict=True)
        for words in words_by_sentence(trace.records, len(sentences))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--dev", type=Path, required=True, help="document, source and target parted by tabs; .xz too")
    parser.add_argument("--sentences", type=int, default=350, help="the first so many; 0 takes all")
    parser.add_argument("--policy", nargs="+", default=["whole", "local-agreement:n=2"])
    options = parser.parse_args()
    translator = Translator.load(options.model, streams=TOGETHER)
    documents = dev_documents(options.dev, translator, options.sentences)
    references = [target for document in documents for target in document.target]
    print(f"| policy | {' | '.join(FORMS)} |\n|---{'|---:' * len(FORMS)}|")
    bleu = BLEU()
    for policy in options.policy:
        scores = []
        for form in FORMS:
            translator.model = replace(translator.model, recases=form == "recased")
            given = [
                # A sentence of marks alone has no spoken words, but has its place.
                [
                    sentence.split() if form == "written" else normalise(sentence) or ["-"]
                    for sentence in document.source
                ]
                for document in documents
            ]
            scores.append(bleu.corpus_score(translated(translator, given, policy), [references]).score)
        print(f"| `{policy}` | {' | '.join(f'{score:.1f}' for score in scores)} |", flush=True)
    print(f"{len(references)} sentences, {bleu.get_signature()}")


if __name__ == "__main__":
    main()
