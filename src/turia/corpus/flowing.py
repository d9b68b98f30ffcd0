"""Batches for models that work without a segmenter (docs/decisions/036): no source says where a sentence ends.

    whole:   <DOC|CONT> x_1 x_2 x_3 <BRK|END>     →   <DOC|CONT> y_1 <SEP> y_2 <SEP> y_3 <BRK|END>
    prefix:  <DOC|CONT> x_1 x_2 x_3'              →   <DOC|CONT> y_1 <SEP> y_2 <SEP> y_3' <CONT>

A prefix is a window whose last pair is cut at one ratio on both sides. Its target ends in the symbol that says that
more has to be read (`MORE_ID`); its source is not closed, as that of a stream is not while somebody speaks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from turia.corpus.batches import Batch, pad
from turia.corpus.shards import CLOSES, OPENS, Shards
from turia.text.layout import Rows, Sentence, Window, closing_symbol, lay_out, target_rows
from turia.text.symbols import MORE_ID


def assemble_flowing(
    shards: Shards,
    samples: npt.NDArray[np.int64],
    source_opening: bool = True,
    prefixes: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Batch:
    """The batch of the given samples without separators in their sources. A share of them, `prefixes`, is cut."""
    sources: list[Window] = []
    targets: list[Window] = []
    rows: list[Rows] = []
    for first, count, flags in shards.samples[samples].tolist():
        pairs = [shards.sentence(index) for index in range(first, first + count)]
        source, target = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        source_end: int | None = closing_symbol(bool(flags & CLOSES))
        target_end = source_end
        if rng is not None and rng.random() < prefixes and can_be_cut(source[-1], target[-1]):
            source[-1], target[-1] = cut_pair(source[-1], target[-1], rng.random())
            source_end, target_end = None, MORE_ID
        opens = bool(flags & OPENS)
        sources.append(lay_out(source, opens, source_end, source_opening, flowing=True))
        targets.append(lay_out(target, opens, target_end))
        rows.append(target_rows(target))
    return Batch(pad([window.ids for window in sources]), pad([window.ids for window in targets]), sources, rows)


def can_be_cut(source: Sentence, target: Sentence) -> bool:
    """Whether both sides have a first word and another."""
    return min(len(source.pieces), len(target.pieces)) > 1


def cut_pair(source: Sentence, target: Sentence, ratio: float) -> tuple[Sentence, Sentence]:
    """The first words of both sides, about `ratio` of them: at least one, never all."""
    return _first_words(source, ratio), _first_words(target, ratio)


def _first_words(side: Sentence, ratio: float) -> Sentence:
    words = min(max(1, round(ratio * len(side.pieces))), len(side.pieces) - 1)
    pieces = side.pieces[:words]
    return Sentence(side.ids[: int(pieces.sum())], pieces)
