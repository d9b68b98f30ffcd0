"""A stream that does not end: random Unicode through the whole engine, watching for errors and for growth.

    python benchmarks/soak.py [--words 100000] [--model FOLDER]

Without a model the engine runs on a stand-in that writes one word for each it reads: everything but the network is real
(normalisation, subwords, policy, history, guards, state). Prints time per word and the size of the saved state after
every tenth of the way; both must stay flat.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the stand-in of the tests

from tests.engine.fakes import Echo, fake_model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.translator import Translator
from turia.segmenter.punctuation import PunctuationSegmenter

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--model", help="a model's name or folder")
    options = parser.parse_args()
    if options.model:
        stream = Translator.load(options.model).stream(k=4)
    else:
        stream = Stream(fake_model(Echo()), PunctuationSegmenter("de"), Settings(k=4))
    rng = random.Random(1)
    begin, tenth = time.perf_counter(), max(1, options.words // 10)
    for number in range(1, options.words + 1):
        stream.push(word(rng))
        if number % tenth == 0:
            spent, begin = time.perf_counter() - begin, time.perf_counter()
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            state = len(json.dumps(stream.state()))
            print(
                f"{number:8} words  {1e6 * spent / tenth:7.0f} µs a word  state {state / 1000:6.1f} kB  "
                f"most memory {memory:6.0f} MB  replaced {stream.replaced}",
                flush=True,
            )
    stream.flush()
    print(f"{stream.read} read, {stream.written} written, {stream.sentence} sentences")


if __name__ == "__main__":
    main()
