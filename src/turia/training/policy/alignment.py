"""Word alignments of a corpus, by systran-align (fast_align): both directions, joined by grow-diag-final-and."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from turia.corpus.sentence_pairs import SentencePair
from turia.errors import InputError
from turia.system.files import write_file
from turia.text.normalise import normalise_word

Links = list[tuple[int, int]]
"""Of a sentence pair: source word and target word, both from 0."""
LEAST_PAIRS = 1000
"""With fewer, most words occur once, and what they are aligned with is chance."""
_PARTING = "|||"


def align_once(pairs: Sequence[SentencePair], kept: Path) -> list[Links]:
    """The links of each pair; those of the file `kept`, if they are of these pairs, else they are found and kept."""
    total = hashlib.sha256(repr([tuple(pair) for pair in pairs]).encode()).hexdigest()
    lines = kept.read_text(encoding="utf-8").split("\n") if kept.exists() else []
    if lines and lines[0] == total:
        return [_parsed(line) for line in lines[1:-1]]
    links = align(pairs)
    text = "".join(" ".join(f"{i}-{j}" for i, j in each) + "\n" for each in links)
    write_file(kept, f"{total}\n{text}")
    return links


def _parsed(line: str) -> Links:
    ends = (link.split("-") for link in line.split())
    return [(int(i), int(j)) for i, j in ends]


def align(pairs: Sequence[SentencePair]) -> list[Links]:
    """The links of each pair."""
    import systran_align  # only heads of chunks need it, and its extra

    if len(pairs) < LEAST_PAIRS:
        raise InputError(
            f"train has {len(pairs)} sentence pairs, too few to align their words; expected {LEAST_PAIRS} or more"
        )
    texts = [(_text(pair.source), _text(pair.target)) for pair in pairs]
    with tempfile.TemporaryDirectory() as name:
        corpus, forward, backward = (Path(name) / part for part in ("corpus", "forward", "backward"))
        lines = (f"{' '.join(source)} {_PARTING} {' '.join(target)}\n" for source, target in texts)
        corpus.write_text("".join(lines), encoding="utf-8")
        systran_align.generate_alignment_probabilities(
            str(corpus), str(forward), str(backward), favor_diagonal=True, optimize_tension=True, variational_bayes=True
        )
        aligner = systran_align.Aligner(str(forward), str(backward))
        return [[(int(i), int(j)) for i, j in aligner.align(*text)["alignments"]] for text in texts]


def _text(words: Sequence[str]) -> list[str]:
    """One token for each word, the same for the same word however it is written."""
    # A word of marks alone keeps them; the mark that parts the sides must not come from a text.
    return [normalise_word(word) or word.replace(_PARTING, "/") for word in words]
