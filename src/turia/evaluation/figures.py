"""Figures, and the streams that a measure computes them from.

A measure is a function from `CutStreams` to figures. To add one, write the function and give it a line in the table
`MEASURES` (measures.py). Its figures are then in the table of `turia evaluate`, in `--json`, and in the results.json of
sweeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan

from turia.evaluation.inputs import StreamLog
from turia.evaluation.options import EvaluationOptions
from turia.evaluation.units import plain_lines, unit_counts


@dataclass(frozen=True)
class Figure:
    """One number of a report."""

    name: str
    value: float
    """Not a number where no sentence could be scored."""
    convention: str
    """Whose definition it is, for people."""
    unit: str = ""
    """Such as source words or seconds; empty for a score, a proportion, or where the input does not say."""
    decimals: int = 3
    """How many to show."""
    group: str | None = None
    """The object of `--json` that has it, where it has the same name as another convention's figure."""
    signature: str = ""
    """What it was computed with, where the report's signature does not say."""
    confidence: float | None = None
    """Half the width of the 95 % interval over resampled sentences; None where none was asked for."""

    def shown(self, decimals: int | None = None) -> str:
        """The value for people; a dash where no sentence could be scored."""
        if isnan(self.value):
            return "–"
        digits = self.decimals if decimals is None else decimals
        interval = "" if self.confidence is None else f" ± {self.confidence:.{digits}f}"
        return f"{self.value:.{digits}f}{interval}"

    def json_value(self) -> float | None:
        return None if isnan(self.value) else self.value


@dataclass(frozen=True)
class CutStreams:
    """Streams whose words are cut at the reference's sentences."""

    streams: Sequence[StreamLog]
    segments: Sequence[Sequence[Sequence[str]]]
    """The words of each reference sentence, stream by stream."""
    options: EvaluationOptions

    @cached_property
    def lengths(self) -> list[list[int]]:
        """How many words each sentence got, stream by stream."""
        return [[len(words) for words in stream] for stream in self.segments]

    @cached_property
    def references(self) -> list[str]:
        """Of all streams."""
        return [line for stream in self.streams for line in stream.references]

    @cached_property
    def hypotheses(self) -> list[str]:
        """What was written for each reference, as plain text."""
        sentences = [words for stream in self.segments for words in stream]
        return plain_lines(sentences, self.options.unit, self.options.language)

    @cached_property
    def reference_lengths(self) -> list[list[int]]:
        """How long each reference is, in the units of the hypothesis, stream by stream."""
        return [unit_counts(stream.references, self.options.unit, self.options.language) for stream in self.streams]


Measure = Callable[[CutStreams], list[Figure]]
