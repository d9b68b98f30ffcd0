"""What viewers at several latencies cost: streams that share what the encoder computes, beside streams of their own.

    python -m benchmarks.latencies de-en --out latencies.json                     # time and memory
    python -m benchmarks.latencies de-en --dev deen.dev.tsv.xz --sentences 400    # what the common first block costs

Time is processor time of one thread for a source word and all that is written at it, sentence ends found by the model's
segmenter, no history. *Alone* are independent streams, run as one batch; *shared* is `Translator.audience`. They take
turns, and the best round counts. Memory is that of encoder states (kept and cross-attention) at the end of a sentence.

The quality is BLEU on a dev set, sentence ends given, of each k with a first block of its own and with the common one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest, Result

from benchmarks.commit import stamp
from benchmarks.int8 import TOGETHER, dev_documents
from turia.engine.batcher import run_together
from turia.engine.stream import Stream
from turia.experiments.cost import sample
from turia.experiments.jobs import Job, translate_all
from turia.runtime.states import SourceState
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import words_by_sentence

LATENCIES: tuple[tuple[int | str, ...], ...] = ((4,), (4, 8), (2, 4, 6, 8), (4, "hold-n:n=3"))
BEAMS = (1, 4)
WORDS = 80
SAMPLES = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--out", type=Path, help="file for the figures")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", type=int, default=WORDS)
    parser.add_argument("--dev", type=Path, help="document, source and target parted by tabs; .xz too")
    parser.add_argument("--sentences", type=int, default=400, help="of the dev set; 0 takes all")
    given = parser.parse_args()
    found: dict[str, Any] = dict(stamp())
    translator = Translator.load(given.model, streams=8)
    if given.dev is None:
        found["cost"] = [cost(translator, ks, beam, given.words, given.rounds) for beam in BEAMS for ks in LATENCIES]
    else:
        found["quality"] = quality(translator, given.dev, given.sentences)
    text = json.dumps(found, indent=1)
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")
    print(text)


def cost(translator: Translator, ks: Sequence[int | str], beam: int, words: int, rounds: int) -> dict[str, Any]:
    """Milliseconds a source word, and bytes of encoder states, alone and shared. Each k may be a policy."""
    said = sample(translator.model.languages[0])[:words]
    best = {"alone": float("inf"), "shared": float("inf")}
    held: dict[str, int] = {}

    def alone() -> list[Stream]:
        named: list[dict[str, Any]] = [{"k": k} if isinstance(k, int) else {"policy": k} for k in ks]
        streams = [translator.stream(beam=beam, history=0, **one) for one in named]
        for word in said:
            run_together([stream.push_steps(word) for stream in streams], translator.model.backend)
        return streams

    def shared() -> list[Stream]:
        audience = translator.audience(ks, beam=beam, history=0)
        for word in said:
            audience.push(word)
        return audience.streams

    ways: dict[str, Callable[[], list[Stream]]] = {"alone": alone, "shared": shared}
    for _ in range(rounds):
        for way, run in ways.items():
            began = time.process_time()
            streams = run()
            best[way] = min(best[way], 1000 * (time.process_time() - began) / len(said))
            held[way] = buffers(streams)
    row = {"beam": beam, "k": list(ks), "ms": best, "bytes": held}
    print(json.dumps(row), flush=True)
    return row


def buffers(streams: Sequence[Stream]) -> int:
    """Bytes of the buffers that hold the streams' encoder states; a buffer that several streams have counts once."""
    states = [stream.current.writer.states()[0] for stream in streams]
    columns = [part for state in states if isinstance(state, SourceState) for part in (state.kept, state.memory)]
    return sum(sum(tensor.nbytes for tensor in part.tensors) for part in {id(part): part for part in columns}.values())


def quality(translator: Translator, dev: Path, count: int) -> list[dict[str, Any]]:
    """BLEU of each k with its own first block and with smaller ones."""
    documents = dev_documents(dev, translator, count)
    references = [target for document in documents for target in document.target]
    rows = []
    for k, blocks in ((4, (None, 2)), (8, (None, 4, 2))):
        systems: list[tuple[str, Sequence[str]]] = []
        for block in blocks:
            jobs = []
            for document in documents:
                sentences = [sentence.split() for sentence in document.source]
                jobs.append(
                    Job(
                        _begin(translator, k, block, list(map(len, sentences))),
                        [word for sentence in sentences for word in sentence],
                    )
                )
            traces = translate_all(jobs, translator.model.backend, TOGETHER, lambda _: None)
            lines = [
                " ".join(words)
                for document, trace in zip(documents, traces, strict=True)
                for words in words_by_sentence(trace.records, len(document.source))
            ]
            systems.append((f"first block {block or k}", lines))
        test = PairedTest(systems, {"BLEU": BLEU(references=[references])}, None, "bs", SAMPLES)
        _, scores = test()
        for (name, _), score in zip(systems, scores["BLEU"], strict=True):
            assert isinstance(score, Result)
            row = {"k": k, "system": name, "bleu": score.score, "p": score.p_value, "sentences": len(references)}
            print(json.dumps(row), flush=True)
            rows.append(row)
    return rows


def _begin(translator: Translator, k: int, block: int | None, lengths: list[int]) -> Callable[[], Stream]:
    return lambda: translator.stream(k=k, first_block=block, segmenter=GivenSegmenter(lengths))


if __name__ == "__main__":
    main()
