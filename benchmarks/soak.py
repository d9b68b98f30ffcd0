"""A stream that does not end: random Unicode or a text through the whole engine, watching for errors and for growth.

    python benchmarks/soak.py --model FOLDER [--words 100000] [--text FILE] [--history 60]
    python benchmarks/soak.py
    python benchmarks/soak.py --free usual|endless|mute [--model FOLDER]

With a model everything is real: its network, its segmenter (full stops in its place with `--punctuation`),
normalisation, subwords, policy, history, guards. Without one the engine runs on a stand-in that writes a word for each
it reads, and sentences end at full stops. Streams have 60 words of history unless told otherwise, whatever the model
says: some have none by default, and windows with history are what most could grow in.

With `--free` there is no segmenter: the model ends sentences itself, or never does (`endless`), or never even writes a
word of its own accord (`mute`), whatever it has learned.

After every tenth of the way it prints time per word, the memory of the process and the size of the saved state. None
may grow: the last tenth may have 5 % more memory than the second, and a state is never larger than history, sentence
and window can be. Memory is judged after what is free has been given back: the allocator keeps some percent of it, now
more, now less, which is printed as well. Time is printed and not judged: it is the machine's too. Exit code 1 if
something grew.

Normalisation and subwords remember words, up to a bound (65,536 each), which random words reach and speech does not. So
as many are shown to them first as fill both: what they take would hide what must not grow, or look like it. So would
the runtime, which keeps the memory of its largest call: the largest calls that there can be come first.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the stand-in of the tests

from tests.engine.fakes import Echo, Endless, Fake, FreeEcho, Mute, fake_model
from turia.engine.backend import (
    Backend,
    DecodeRequest,
    DecoderState,
    EncodeRequest,
    EncoderState,
    Logits,
    LookRequest,
    Looks,
)
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.experiments.bench import memory
from turia.runtime.translator import Translator
from turia.segmenter.online import FreeSegmenter
from turia.segmenter.punctuation import PunctuationSegmenter
from turia.stream.trace import Note, Record
from turia.text.normalise import normalise_word
from turia.text.symbols import MORE_ID, SEP_ID

ODD = ["<SEP>", "▁", "\ud800", "\x00", "\u202e", "–", "\u2028", "a\u0301\u0323", "\U0001f600", "x" * 500]
REMEMBERED = 150_000
"""Random words: twice the bound, so that memory is level when the stream begins."""
MOST_MEMORY = 1.05
"""Of what the second tenth had."""
MOST_STATE = 100_000
"""Bytes. A sentence and its history are at most some hundred pieces a side, a number of seven letters each."""


def word(rng: random.Random) -> str:
    """Something that could stand in a text, or could not."""
    kind = rng.random()
    if kind < 0.1:
        return rng.choice(ODD)
    if kind < 0.5:
        return "".join(rng.choices("abcdefghijklmnopqrstuvwxyzäöüß", k=rng.randint(1, 9)))
    text = "".join(chr(rng.randint(33, 0x2FFFF)) for _ in range(rng.randint(1, 6)))
    return text + rng.choice(["", "", "", "."])


def noise(seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    while True:
        yield word(rng)


def fill_what_is_remembered(stream: Stream) -> None:
    """To the bound, so that nothing is added to it on the way."""
    for given in islice(noise(0), REMEMBERED):
        if normal := normalise_word(given):
            stream.model.source_subwords.encode_word(normal)


def fill_the_runtime(model: Model) -> None:
    """The largest calls that there can be: a window, and a history of the target, that fill all positions."""
    ids = np.ones(model.max_positions, dtype=np.int64)
    limits = np.full(model.max_positions, model.max_positions)
    [encoded] = model.backend.encode([EncodeRequest(None, ids, limits)])
    model.backend.decode([DecodeRequest(None, encoded, ids, limits)])


@dataclass
class Bent:
    """A model without a segmenter that never writes a separator, or always asks for more to be read."""

    backend: Backend
    kind: str
    can_look: bool = True
    gives_states: bool = True

    def encode(self, requests: Sequence[EncodeRequest]) -> Sequence[EncoderState]:
        return self.backend.encode(requests)

    def decode(self, requests: Sequence[DecodeRequest]) -> Sequence[tuple[DecoderState, Logits]]:
        return [(state, self._bent(logits)) for state, logits in self.backend.decode(requests)]

    def look(self, requests: Sequence[LookRequest]) -> Sequence[Looks]:
        return [looks._replace(logits=self._bent(looks.logits)) for looks in self.backend.look(requests)]

    def _bent(self, logits: Logits) -> Logits:
        logits = logits.copy()
        logits[..., SEP_ID if self.kind == "endless" else MORE_ID] = -1e9 if self.kind == "endless" else 1e9
        return logits


STAND_INS: dict[str, type[Fake]] = {"usual": FreeEcho, "endless": Endless, "mute": Mute}


def free_stream(model: str | None, kind: str, history: int) -> Stream:
    """A stream without a segmenter."""
    if model is None:
        loaded = fake_model(STAND_INS[kind](), free=True)
    else:
        loaded = Translator.load(model).model
        fill_the_runtime(loaded)
        if kind != "usual":
            # Whatever the model has learned: one that was not tuned for it never writes a separator either.
            loaded = replace(loaded, backend=Bent(loaded.backend, kind), free=True)
    return Stream(loaded, FreeSegmenter(), Settings(k=4, gamma=loaded.gamma, history=history))


@dataclass(frozen=True)
class Mark:
    """How a stream was after a tenth of its way."""

    words: int
    microseconds: float
    """Of processor time a word, since the last mark."""
    state: int
    """Bytes."""
    megabytes: float
    """Of the whole process, once what is free was given back."""
    unused: float
    """Megabytes that were given back."""


def give_back_what_is_free() -> None:
    """Python's unreachable objects to the allocator, and the allocator's free pages to the system, where it can."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc has it
        trim(0)


def soak(
    stream: Stream, words: Iterator[str], count: int, show: Callable[[Mark], None] = lambda _: None
) -> tuple[list[Mark], Counter[str]]:
    """Pushes `count` words and flushes; gives ten marks, and how often the guards did what."""
    marks, notes = list[Mark](), Counter[str]()

    def count_notes(records: list[Record]) -> None:
        notes.update(record.kind for record in records if isinstance(record, Note))

    begin, tenth = time.process_time(), max(1, count // 10)
    for number in range(1, count + 1):
        count_notes(stream.push(next(words)))
        if number % tenth == 0:
            spent = 1e6 * (time.process_time() - begin) / tenth
            before = memory()
            give_back_what_is_free()
            marks.append(Mark(number, spent, len(json.dumps(stream.state())), memory(), before - memory()))
            show(marks[-1])
            begin = time.process_time()
    count_notes(stream.flush())
    return marks, notes


def grown(marks: list[Mark]) -> list[str]:
    """What has grown."""
    complaints = []
    begin, end = marks[min(1, len(marks) - 1)].megabytes, marks[-1].megabytes
    if end > MOST_MEMORY * begin:
        complaints.append(f"memory from {begin:.0f} to {end:.0f} MB")
    largest = max(mark.state for mark in marks)
    if largest > MOST_STATE:
        complaints.append(f"state up to {largest / 1000:.0f} kB")
    return complaints


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--model", help="a model's name or folder")
    parser.add_argument("--punctuation", action="store_true", help="sentences end at full stops")
    parser.add_argument("--history", type=int, default=60, help="words of history")
    parser.add_argument("--text", type=Path, help="words to read, again and again, in place of random Unicode")
    parser.add_argument("--free", choices=tuple(STAND_INS), help="without a segmenter")
    options = parser.parse_args(arguments)
    if options.free:
        stream = free_stream(options.model, options.free, options.history)
    elif options.model:
        translator = Translator.load(options.model)
        fill_the_runtime(translator.model)
        stream = translator.stream(k=4, history=options.history, punctuation=options.punctuation)
    else:
        stream = Stream(fake_model(Echo()), PunctuationSegmenter("de"), Settings(k=4, history=options.history))
    words = cycle(options.text.read_text(encoding="utf-8").split()) if options.text else noise(1)

    def show(mark: Mark) -> None:
        print(
            f"{mark.words:8} words  {mark.microseconds:7.0f} µs a word  state {mark.state / 1000:6.1f} kB  "
            f"memory {mark.megabytes:6.1f} MB (and {mark.unused:.1f} unused)  written {stream.written}  "
            f"sentences {stream.sentence}  replaced {stream.replaced}",
            flush=True,
        )

    fill_what_is_remembered(stream)
    marks, notes = soak(stream, words, options.words, show)
    print(f"{stream.read} read, {stream.written} written, {stream.sentence} sentences, notes {dict(notes)}")
    complaints = grown(marks)
    print(f"grew: {'; '.join(complaints)}" if complaints else "nothing grew")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
