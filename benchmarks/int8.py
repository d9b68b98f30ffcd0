"""What int8 costs in quality: BLEU of two exports of one run on a dev set, with the reference's sentences.

    turia export RUN m-float32 --precision float32
    turia export RUN m-int8
    python benchmarks/int8.py m-float32 m-int8 --dev deen.dev.tsv.xz [--sentences N] [--k 4 8] [--history 60]

Each document is a stream through the engine. Rounding now and then turns a choice that was close, and all that follows
in the sentence and in its history: BLEU moves up and down by that. So the difference comes with a test of chance
(approximate randomisation over sentences: the probability of so large a difference between two equal systems), and with
the share of sentences that both write word for word. Exit code 1 if int8 loses more than 0.3 BLEU, whatever chance may
explain of it: measure more sentences then.
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice, product
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest, Result

from turia.config import Corpus
from turia.engine.stream import Stream
from turia.experiments.jobs import Job, translate_all
from turia.formats.documents import Document, read
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import words_by_sentence

TOGETHER = 8
SAMPLES = 2000
MOST_LOSS = 0.3


def dev_documents(path: Path, translator: Translator, sentences: int) -> list[Document]:
    """The first `sentences` pairs, or all for 0, by documents."""
    config, left, taken = translator.config, sentences or sys.maxsize, list[Document]()
    for document in read(Corpus(path=path), config.source_language, config.target_language):
        pairs = list(islice(zip(document.source, document.target, strict=True), left))
        left -= len(pairs)
        if pairs:
            taken.append(Document(document.id, [source for source, _ in pairs], [target for _, target in pairs]))
    return taken


def translate(translator: Translator, documents: list[Document], k: int, history: int) -> list[str]:
    """The translation of each sentence."""

    def job(document: Document) -> Job:
        sentences = [sentence.split() for sentence in document.source]

        def begin() -> Stream:
            return translator.stream(
                k=k, history=history, segmenter=GivenSegmenter([len(words) for words in sentences])
            )

        return Job(begin, [word for words in sentences for word in words])

    traces = translate_all(
        [job(document) for document in documents], translator.model.backend, TOGETHER, lambda _: None
    )
    translations = []
    for document, trace in zip(documents, traces, strict=True):
        translations += [" ".join(words) for words in words_by_sentence(trace.records, len(document.source))]
    return translations


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exports", nargs=2, help="model folders: float32, then int8")
    parser.add_argument("--dev", type=Path, required=True, help="document, source and target parted by tabs; .xz too")
    parser.add_argument("--sentences", type=int, default=0, help="the first so many; 0 takes all")
    parser.add_argument("--k", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--history", type=int, nargs="+", default=[60])
    options = parser.parse_args(arguments)
    translators = [Translator.load(folder, streams=TOGETHER) for folder in options.exports]
    found = [translator.config.precision for translator in translators]
    if found != ["float32", "int8"]:
        parser.error(f"expected a float32 export and an int8 one, found {' and '.join(found)}")
    documents = dev_documents(options.dev, translators[0], options.sentences)
    references = [target for document in documents for target in document.target]
    too_much = False
    for history, k in product(options.history, options.k):
        wide, narrow = (translate(translator, documents, k, history) for translator in translators)
        test = PairedTest([("float32", wide), ("int8", narrow)], {"BLEU": BLEU()}, [references], n_samples=SAMPLES)
        signatures, scores = test()
        before, after = (result for result in scores["BLEU"] if isinstance(result, Result))
        loss, chance = before.score - after.score, after.p_value
        assert chance is not None
        too_much |= loss > MOST_LOSS
        same = sum(one == other for one, other in zip(wide, narrow, strict=True)) / len(wide)
        print(
            f"k {k}, history {history}, {len(references)} sentences: "
            f"float32 {before.score:.2f}, int8 {after.score:.2f}, "
            f"loss {loss:+.2f} (p {chance:.2f}), {same:.0%} of sentences the same",
            flush=True,
        )
    print(signatures["BLEU"].format())
    return int(too_much)


if __name__ == "__main__":
    sys.exit(main())
