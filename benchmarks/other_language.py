"""How well speech in another language is told from English: the certainty of pieces of 20 words.

    python -m benchmarks.other_language --corpus ../shared/data/europarl-st/deen.dev.tsv.xz

The corpus is a file of name, German, English. espeak-ng reads sentences of it in both languages, eight for each voice,
to the recogniser of `turia listen`. Pieces overlap: one begins every five words. Where less of a piece is sure than
`speech/check.py` asks for, the user is warned: German should be below, English above. `words alone` is without the
rule of `speech/certainty.py` for phrases that are repeated.
"""

from __future__ import annotations

import argparse
import lzma
import random
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from turia.speech.certainty import SURE, Certainty
from turia.speech.check import UNSURE
from turia.speech.moonshine import MoonshineDecoder
from turia.speech.redecoding import RedecodingRecogniser
from turia.speech.sound import file_sound
from turia.speech.voice import SileroDetector

GERMAN = ("de", "de+f2", "de+m3", "de+m7")
ENGLISH = ("en-gb-x-rp", "en-us", "en-us+f2")
SENTENCES = 8
LENGTHS = range(8, 31)
"""Words of a sentence."""
PIECE, STEP, SPEED = 20, 5, 150


class LoggedCertainty(Certainty):
    """Knows of each word whether it was sure: by its probability alone, and by the rule for phrases too."""

    def __init__(self) -> None:
        super().__init__()
        self.alone: list[bool] = []
        self.by_rule: list[bool] = []

    def add(self, words: Iterable[tuple[str, float]]) -> None:
        for text, probability in words:
            before = self.sure
            super().add([(text, probability)])
            self.alone.append(probability >= SURE)
            self.by_rule.append(self.sure > before)


def heard(voice: str, text: str) -> LoggedCertainty:
    """What the recogniser makes of a text that is read by this voice."""
    recogniser = RedecodingRecogniser(MoonshineDecoder(), SileroDetector())
    recogniser._certainty = certainty = LoggedCertainty()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "speech.wav"
        subprocess.run(["espeak-ng", "-v", voice, "-s", str(SPEED), "-w", str(file), text], check=True)
        for samples in file_sound(file):
            recogniser.push(samples)
        recogniser.flush()
    return certainty


def shares(sure: Sequence[bool]) -> list[float]:
    """Of each piece."""
    return [sum(sure[begin : begin + PIECE]) / PIECE for begin in range(0, len(sure) - PIECE + 1, STEP)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    with lzma.open(options.corpus, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t")[1:3] for line in file]
    rows = [row for row in rows if all(len(text.split()) in LENGTHS for text in row)]
    voices = [(0, voice) for voice in GERMAN] + [(1, voice) for voice in ENGLISH]
    rows = random.Random(options.seed).sample(rows, SENTENCES * len(voices))
    for number, (column, voice) in enumerate(voices):
        own = rows[number * SENTENCES : (number + 1) * SENTENCES]
        certainty = heard(voice, " ".join(row[column] for row in own))
        for name, sure in (("words alone", certainty.alone), ("with phrases", certainty.by_rule)):
            pieces = shares(sure)
            warned = sum(share < UNSURE for share in pieces)
            print(
                f"{voice:12} {name:12} {certainty.words} words, {warned} of {len(pieces)} pieces are warned of; "
                f"shares {min(pieces):.2f} to {max(pieces):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
