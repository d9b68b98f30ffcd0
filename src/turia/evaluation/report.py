"""One report for any number of streams: a list of figures, and the signature.

The figures are those of the measures in `measures`. The signature says what they were computed with, in sacrebleu's
manner: `key:value`, with bars between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from turia import __version__
from turia.evaluation import measures
from turia.evaluation.figures import CutStreams, Figure
from turia.evaluation.inputs import StreamLog
from turia.evaluation.options import EvaluationOptions, Unit
from turia.evaluation.resegment import RESEGMENTER, resegment

TRACED = {
    "model": "model",
    "files": "files",
    "k": "k",
    "w": "window",
    "h": "history",
    "gamma": "gamma",
    "rounding": "rounding",
}
"""Names in the signature, and the settings of a trace that they come from."""
USUAL = {
    "segmenter": "segmenter",
    "encoding": "incremental",
    "recompute": False,
    "beam": 1,
    "lookahead": 3,
    "max_lag": 30,
    "target_lag": "none",
}
"""Settings of a trace that are in the signature where they are not these."""


@dataclass(frozen=True)
class Report:
    """The figures of a corpus."""

    figures: tuple[Figure, ...]
    streams: int
    sentences: int
    empty: int
    """Sentences that got no words."""
    signature: str
    hypotheses: tuple[str, ...] = ()
    """What was written for each reference, as plain text."""

    def figure(self, name: str, group: str | None = None) -> Figure:
        """The figure of this name, of the paper's conventions or of a group (`simuleval`, `seconds`, ...)."""
        return next(one for one in self.figures if (one.name, one.group) == (name, group))

    def value(self, name: str, group: str | None = None) -> float:
        return self.figure(name, group).value

    def group(self, name: str) -> dict[str, float]:
        """The figures of a group by their names; none if there is no such group."""
        return {one.name: one.value for one in self.figures if one.group == name}

    def as_json(self) -> dict[str, Any]:
        """Plain JSON data; a figure that does not exist (no sentence could be scored) is null."""
        data: dict[str, Any] = {}
        for figure in self.figures:
            if figure.group is None:
                data[figure.name] = figure.json_value()
                if figure.confidence is not None:
                    data[f"{figure.name}_confidence"] = figure.confidence
        data |= {"sentences": self.sentences, "streams": self.streams, "empty": self.empty}
        data["signature"] = self.signature
        data |= {f"{figure.name}_signature": figure.signature for figure in self.signed()}
        for figure in self.figures:
            if figure.group is not None:
                data.setdefault(figure.group, {})[figure.name] = figure.json_value()
        return data

    def as_table(self) -> Table:
        """The figures for people."""
        table = Table("measure", "convention", box=box.SIMPLE_HEAD)
        table.add_column("value", justify="right")
        table.add_column("unit")
        for figure in self.figures:
            table.add_row(figure.name, figure.convention, figure.shown(), figure.unit)
        return table

    def signed(self) -> list[Figure]:
        """The figures that have a signature of their own."""
        return [figure for figure in self.figures if figure.signature]


def evaluate(streams: Sequence[StreamLog], options: EvaluationOptions) -> Report:
    """Scores streams; where a stream comes without cuts, its words are cut at the references here."""
    assert streams
    cut = CutStreams(streams, [_segments(stream) for stream in streams], options)
    return Report(
        figures=tuple(figure for measure in measures.MEASURES for figure in measure(cut)),
        streams=len(streams),
        sentences=len(cut.references),
        empty=sum(length == 0 for lengths in cut.lengths for length in lengths),
        signature=_signature(streams, options),
        hypotheses=tuple(cut.hypotheses),
    )


def _segments(stream: StreamLog) -> Sequence[Sequence[str]]:
    if stream.segments is not None:
        return stream.segments
    if len(stream.references) == 1:
        return [stream.words]
    return resegment(stream.words, stream.references)


def _signature(streams: Sequence[StreamLog], options: EvaluationOptions) -> str:
    if all(stream.segments is not None for stream in streams):
        cuts = "given"
    elif all(len(stream.references) == 1 for stream in streams):
        cuts = "none"
    else:
        cuts = RESEGMENTER
    parts = {
        "latency": "+".join(options.conventions()),
        "unit": options.unit,
        # Joining Moses tokens to text differs from language to language.
        **({"language": options.language} if options.unit is Unit.MOSES else {}),
        "dal-scale": f"{options.dal_scale:g}",
        "resegmenter": cuts,
        "streams": str(len(streams)),
    }
    for name, key in TRACED.items():
        values = {_told(stream, key, "unknown") for stream in streams}
        if values != {"unknown"}:
            parts[name] = ",".join(sorted(values))
    # Wait-k is told by its k, as it was when there was no other policy, and when it had no gamma of its own.
    policies = {_told(stream, "policy", "wait-k") for stream in streams}
    if others := sorted(one for one in policies if one.partition(":")[0] != "wait-k" or "gamma=" in one):
        parts["policy"] = ",".join(others)
    for name, usual in USUAL.items():
        values = {_told(stream, name, usual) for stream in streams}
        if values != {str(usual)}:
            parts[name] = ",".join(sorted(values))
    parts["turia"] = __version__
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def _told(stream: StreamLog, key: str, otherwise: object) -> str:
    """A setting of a trace, which may be anybody's: a signature is one line, and bars part its keys."""
    text = str(stream.settings.get(key, otherwise))
    return "".join(letter if letter.isprintable() and letter != "|" else "\ufffd" for letter in text)
