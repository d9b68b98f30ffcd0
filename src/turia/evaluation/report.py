"""One report for any number of streams: latency under the conventions asked for, BLEU, chrF, and the signature.

A figure never changes its meaning with an option: `AP`, `AL` and `DAL` are always the paper's, and another
convention's figures stand under that convention's name. Means are over the sentences of all streams.

The signature says what the figures were computed with, in sacrebleu's manner: `key:value`, parted by bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from rich import box
from rich.table import Table

from turia import __version__
from turia.evaluation import latency
from turia.evaluation.inputs import StreamLog
from turia.evaluation.options import Convention, Options, Unit
from turia.evaluation.quality import Score, bleu, chrf
from turia.evaluation.resegment import NAME as RESEGMENTER
from turia.evaluation.resegment import resegment
from turia.evaluation.units import plain_lines, unit_counts

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
USUAL = {"segmenter": "segmenter", "encoding": "incremental", "recompute": False, "beam": 1, "lookahead": 3}
"""Settings of a trace that are in the signature where they are not these."""


@dataclass(frozen=True)
class Report:
    """The figures of a corpus."""

    ap: float
    al: float
    dal: float
    bleu: Score
    chrf: Score
    streams: int
    sentences: int
    empty: int
    """Sentences that got no words."""
    signature: str
    others: dict[Convention, dict[str, float]] = field(default_factory=dict)
    """Figures of the other conventions."""
    hypotheses: tuple[str, ...] = ()
    """What was written for each reference, as plain text."""
    seconds: dict[str, float] = field(default_factory=dict)
    """AL and DAL of the authors, StreamLAAL and LongYAAL in seconds, where all traces have times."""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON data; a figure that does not exist (no sentence could be scored) is null."""
        data: dict[str, Any] = {"AP": self.ap, "AL": self.al, "DAL": self.dal}
        for score in (self.bleu, self.chrf):
            data[score.name] = score.value
            if score.confidence is not None:
                data[f"{score.name}_confidence"] = score.confidence
        data |= {"sentences": self.sentences, "streams": self.streams, "empty": self.empty}
        data["signature"] = self.signature
        for score in (self.bleu, self.chrf):
            data[f"{score.name}_signature"] = score.signature
        for convention, figures in self.others.items():
            data[convention.value] = {name: None if isnan(value) else value for name, value in figures.items()}
        if self.seconds:
            data["seconds"] = {name: None if isnan(value) else value for name, value in self.seconds.items()}
        return data

    def as_table(self) -> Table:
        """The figures for people."""
        table = Table("measure", "convention", box=box.SIMPLE_HEAD)
        table.add_column("value", justify="right")
        for name, value in (("AP", self.ap), ("AL", self.al), ("DAL", self.dal)):
            table.add_row(name, Convention.AUTHORS.value, f"{value:.3f}")
        for convention, figures in self.others.items():
            for name, value in figures.items():
                table.add_row(name, convention.value, _figure(value))
        for name, value in self.seconds.items():
            table.add_row(name, "in seconds", _figure(value))
        for score in (self.bleu, self.chrf):
            interval = "" if score.confidence is None else f" ± {score.confidence:.2f}"
            table.add_row(score.name, "sacrebleu", f"{score.value:.2f}{interval}")
        return table


def _figure(value: float) -> str:
    """A dash where no sentence could be scored."""
    return "–" if isnan(value) else f"{value:.3f}"


def evaluate(streams: Sequence[StreamLog], options: Options) -> Report:
    """Scores streams; where a stream comes without cuts, its words are cut at the references here."""
    assert streams
    segments = [_segments(stream) for stream in streams]
    lengths = [[len(words) for words in stream] for stream in segments]
    references = [line for stream in streams for line in stream.references]
    hypotheses = plain_lines([words for stream in segments for words in stream], options.unit, options.language)

    ap: list[float] = []
    al: list[float] = []
    dal: list[float] = []
    for stream, own in zip(streams, lengths, strict=True):
        ap += latency.stream_ap(stream.delays, stream.source_lengths, own)
        al += latency.stream_al(stream.delays, stream.source_lengths, own)
        dal += latency.stream_dal(stream.delays, stream.source_lengths, own, options.dal_scale)
    return Report(
        ap=latency.mean(ap),
        al=latency.mean(al),
        dal=latency.mean(dal),
        bleu=bleu(hypotheses, references, options.resamples),
        chrf=chrf(hypotheses, references, options.resamples),
        streams=len(streams),
        sentences=len(references),
        empty=sum(length == 0 for own in lengths for length in own),
        signature=_signature(streams, options),
        others=_other_conventions(streams, lengths, options),
        hypotheses=tuple(hypotheses),
        seconds=_in_seconds(streams, lengths, options),
    )


def _segments(stream: StreamLog) -> Sequence[Sequence[str]]:
    if stream.segments is not None:
        return stream.segments
    if len(stream.references) == 1:
        return [stream.words]
    return resegment(stream.words, stream.references)


def _other_conventions(
    streams: Sequence[StreamLog], lengths: Sequence[Sequence[int]], options: Options
) -> dict[Convention, dict[str, float]]:
    """The figures of every convention asked for; the reference's length is counted in the hypothesis's units."""
    asked = [convention for convention in options.conventions() if convention is not Convention.AUTHORS]
    if not asked:
        return {}
    scores: dict[Convention, dict[str, list[float]]] = {
        Convention.SIMULEVAL: {"AP": [], "AL": [], "LAAL": [], "DAL": []},
        Convention.STREAMLAAL: {"StreamLAAL": []},
        Convention.LONGYAAL: {"LongYAAL": []},
    }
    for stream, own in zip(streams, lengths, strict=True):
        counts = unit_counts(stream.references, options.unit, options.language)
        scores[Convention.STREAMLAAL]["StreamLAAL"] += latency.stream_laal(
            stream.delays, stream.source_lengths, own, counts
        )
        scores[Convention.LONGYAAL]["LongYAAL"] += latency.stream_yaal(
            stream.delays, stream.source_lengths, own, counts
        )
        relative = latency.sentence_delays(stream.delays, stream.source_lengths, own)
        simuleval = scores[Convention.SIMULEVAL]
        if stream.simuleval_words is not None and options.unit is Unit.WORD:
            counts = list(stream.simuleval_words)
        for delays, source, reference in zip(relative, stream.source_lengths, counts, strict=True):
            # SimulEval leaves sentences without words out of its means.
            if delays:
                simuleval["AP"].append(latency.sentence_ap(delays, source, reference))
                simuleval["AL"].append(latency.sentence_al(delays, source, reference))
                simuleval["LAAL"].append(latency.sentence_laal(delays, source, reference))
                simuleval["DAL"].append(latency.sentence_dal(delays, source))
    return {
        convention: {name: latency.mean(values) for name, values in scores[convention].items()} for convention in asked
    }


def _in_seconds(streams: Sequence[StreamLog], lengths: Sequence[Sequence[int]], options: Options) -> dict[str, float]:
    """The same functions of delays and source lengths in seconds; nothing unless every stream has them."""
    scores: dict[str, list[float]] = {"AL": [], "DAL": [], "StreamLAAL": [], "LongYAAL": []}
    for stream, own in zip(streams, lengths, strict=True):
        if stream.seconds is None:
            return {}
        delays, sources = stream.seconds.delays, stream.seconds.source_lengths
        counts = unit_counts(stream.references, options.unit, options.language)
        scores["AL"] += latency.stream_al(delays, sources, own)
        scores["DAL"] += latency.stream_dal(delays, sources, own, options.dal_scale)
        scores["StreamLAAL"] += latency.stream_laal(delays, sources, own, counts)
        scores["LongYAAL"] += latency.stream_yaal(delays, sources, own, counts)
    return {name: latency.mean(values) for name, values in scores.items()}


def _signature(streams: Sequence[StreamLog], options: Options) -> str:
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
        values = {str(stream.settings.get(key, "unknown")) for stream in streams}
        if values != {"unknown"}:
            parts[name] = ",".join(sorted(values))
    for name, usual in USUAL.items():
        values = {str(stream.settings.get(name, usual)) for stream in streams}
        if values != {str(usual)}:
            parts[name] = ",".join(sorted(values))
    parts["turia"] = __version__
    return "|".join(f"{name}:{value}" for name, value in parts.items())
