"""Larger models beside CTranslate2: what a word, an encoding and a step take, with random weights.

    python -m benchmarks.sizes small base big 75M --out sizes.json

`small`, `base` and `big` are the sizes of recipes, 75M, 230M and 600M those of OPUS-MT, OPUS-MT big and NLLB-200.
Random weights write noise, so both are told what to write. Of our engine, a script replaces the model's choices (turia
bench). CTranslate2 is made to write as many pieces as asked for. Rows of the table:

- *word*: one source word read and what is written at it, in a sentence of 20 words, k = 4, no history. CTranslate2
  encodes what was read again and decodes what was written again, as a prefix; with a beam it looks three pieces ahead,
  as ours does.
- *encode*: a sentence of 20 pieces. *step*: one more piece of one hypothesis, of four, or of 16 streams (ours alone).

Processor time of one thread; the best round counts. With `--threads 2` the encoding and the steps are timed again, by
the clock on the wall: the shortest of many calls, as other jobs use the cores too. Our native code shares streams among
threads, so one stream alone takes as long as before.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.commit import stamp
from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.experiments.bench_script import ScriptedBackend, speech
from turia.export.random_model import random_folder
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.system.processes import in_another_process
from turia.text.symbols import BRK_ID, DOC_ID

PIECES = 20
K = 4
AHEAD = 3
ROUNDS = 3
STEPS = 10
STREAMS = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+")
    parser.add_argument("--out", type=Path, help="file for the figures")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    found: dict[str, Any] = stamp() | {"sizes": {}}
    for size in given.sizes:
        found["sizes"][size] = {}
        with random_folder(size, "int8") as folder, TemporaryDirectory(prefix="turia-") as other:
            in_another_process(_convert, folder, Path(other))
            for threads in sorted({1, given.threads}):
                rows = {
                    "turia": in_another_process(ours, folder, threads),
                    "ctranslate2": in_another_process(theirs, Path(other), threads),
                }
                found["sizes"][size][f"{threads} threads"] = rows
                print(size, f"{threads} threads", json.dumps(rows), flush=True)
        if given.out:
            given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _convert(folder: Path, other: Path) -> None:
    from turia.export.as_ctranslate2 import save_as_ctranslate2

    save_as_ctranslate2(folder, other)


def timed(call: Callable[[], object], threads: int, count: int = 1) -> float:
    """Milliseconds of a call that does `count` things. Processor time, or with more threads that on the wall."""
    clock, rounds = (time.process_time, ROUNDS) if threads == 1 else (time.perf_counter, 20 * ROUNDS)
    call()
    best = float("inf")
    for _ in range(rounds):
        began = clock()
        call()
        best = min(best, clock() - began)
    return 1000 * best / count


def ours(folder: Path, threads: int) -> dict[str, float]:
    model = Translator.load(folder, threads=threads).model
    ids, full = np.arange(300, 300 + PIECES), np.full(PIECES, PIECES)
    backend = model.backend
    [memory] = backend.encode([EncodeRequest(None, ids, full)])
    [(begun, _)] = backend.decode([DecodeRequest(None, memory, ids, full)])

    def steps(beam: int) -> None:
        states = [begun] * beam
        for _ in range(STEPS):
            found = backend.decode([DecodeRequest(state, memory, ids[:1], full[:1]) for state in states])
            states = [state for state, _ in found]

    every = [backend.decode([DecodeRequest(None, memory, ids, full)])[0][0] for _ in range(STREAMS)]
    last = [DecodeRequest(state, memory, ids[:1], full[:1]) for state in every]
    rows = {
        "encode": timed(lambda: backend.encode([EncodeRequest(None, ids, full)]), threads),
        "step": timed(lambda: steps(1), threads, STEPS),
        "step of 4": timed(lambda: steps(4), threads, STEPS),
        "step of 16 streams": timed(lambda: backend.decode(last), threads),
    }
    if threads == 1:
        rows |= {"word": _words(model, 1), "word, beam 4": _words(model, 4)}
    return rows


def _words(model: Model, beam: int) -> float:
    said = speech(model.source_subwords, 3 * PIECES)
    words = [word for word in said.words if len(model.source_subwords.encode_word(word)) == 1]
    words = (words * 3)[: 2 * PIECES]

    def run() -> None:
        scripted = replace(model, backend=ScriptedBackend(model))
        stream = Stream(scripted, GivenSegmenter([PIECES, PIECES]), Settings(k=K, history=0, beam=beam))
        for word in words:
            stream.push(word)

    return timed(run, 1, len(words))


def theirs(folder: Path, threads: int) -> dict[str, float]:
    import ctranslate2

    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type="int8", inter_threads=1, intra_threads=threads
    )
    source = [str(piece) for piece in range(300, 300 + PIECES)]

    def write(read: int, written: int, new: int, beam: int) -> None:
        length = written + new
        translator.translate_batch(
            [[*source[:read], str(BRK_ID)]],
            target_prefix=[[str(DOC_ID), *source[:written]]],
            beam_size=beam,
            min_decoding_length=length,
            max_decoding_length=length,
            end_token=[str(BRK_ID)],
        )

    def words(beam: int) -> None:
        for read in range(K, PIECES):
            write(read, read - K, AHEAD if beam > 1 else 1, beam)
        write(PIECES, PIECES - K, K + 1, beam)

    rows = {}
    for name, beam in (("step", 1), ("step of 4", 4)):
        many = timed(lambda beam=beam: write(PIECES, 1, 2 * STEPS, beam), threads)  # type: ignore[misc]
        few = timed(lambda beam=beam: write(PIECES, 1, STEPS, beam), threads)  # type: ignore[misc]
        rows[name] = (many - few) / STEPS
        if beam == 1:
            # A call with one step less that step.
            rows["encode"] = timed(lambda: write(PIECES, 0, 1, 1), threads) - rows[name]
    if threads == 1:
        rows |= {"word": timed(lambda: words(1), 1, PIECES), "word, beam 4": timed(lambda: words(4), 1, PIECES)}
    return rows


if __name__ == "__main__":
    main()
