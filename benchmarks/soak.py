"""A stream that does not end: random Unicode or a text through the whole engine, watching for errors and for growth.

    python benchmarks/soak.py [--words 100000] [--model FOLDER] [--text FILE]

Without a model the engine runs on a stand-in that writes one word for each it reads: everything but the network is real
(normalisation, subwords, policy, history, guards, state). Sentences end at full stops. Prints time per word, the memory
of the process and the size of the saved state after every tenth of the way; all must stay flat.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the stand-in of the tests

from tests.engine.fakes import Echo, fake_model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.translator import Translator
from turia.interop.bench import memory
from turia.segmenter.punctuation import PunctuationSegmenter
from turia.stream.trace import Note

ODD = ["<SEP>", "▁", "\ud800", "\x00", "\u202e", "–", "\u2028", "a\u0301\u0323", "\U0001f600", "x" * 500]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--model", help="a model's name or folder")
    parser.add_argument("--text", type=Path, help="words to read, again and again, in place of random Unicode")
    options = parser.parse_args()
    if options.model:
        stream = Translator.load(options.model).stream(k=4, punctuation=True)
    else:
        stream = Stream(fake_model(Echo()), PunctuationSegmenter("de"), Settings(k=4))
    words = cycle(options.text.read_text(encoding="utf-8").split()) if options.text else noise(1)
    notes = Counter[str]()
    begin, tenth = time.process_time(), max(1, options.words // 10)
    for number in range(1, options.words + 1):
        notes.update(record.kind for record in stream.push(next(words)) if isinstance(record, Note))
        if number % tenth == 0:
            spent, begin = time.process_time() - begin, time.process_time()
            state = len(json.dumps(stream.state()))
            print(
                f"{number:8} words  {1e6 * spent / tenth:7.0f} µs a word  state {state / 1000:6.1f} kB  "
                f"memory {memory():6.0f} MB  replaced {stream.replaced}",
                flush=True,
            )
    stream.flush()
    print(f"{stream.read} read, {stream.written} written, {stream.sentence} sentences, notes {dict(notes)}")


if __name__ == "__main__":
    main()
