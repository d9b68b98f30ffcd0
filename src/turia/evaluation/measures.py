"""The table of measures: every figure of a report comes from one of these functions (see `figures`).

Means are over the sentences of all streams. A figure never changes its meaning with an option: `AP`, `AL` and `DAL` are
always the paper's, and another convention's figures stand under that convention's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from turia.evaluation import latency, quality
from turia.evaluation.figures import CutStreams, Figure, Measure
from turia.evaluation.inputs import A_SECOND
from turia.evaluation.options import Convention, Unit

IN_SECONDS = "seconds"


def authors_latency(cut: CutStreams) -> list[Figure]:
    """AP, AL and DAL of the paper."""
    ap: list[float] = []
    al: list[float] = []
    dal: list[float] = []
    for stream, lengths in zip(cut.streams, cut.lengths, strict=True):
        ap += latency.stream_ap(stream.delays, stream.source_lengths, lengths)
        al += latency.stream_al(stream.delays, stream.source_lengths, lengths)
        dal += latency.stream_dal(stream.delays, stream.source_lengths, lengths, cut.options.dal_scale)
    unit = _unit(cut)
    return [
        Figure("AP", latency.mean(ap), Convention.AUTHORS),
        Figure("AL", latency.mean(al), Convention.AUTHORS, unit),
        Figure("DAL", latency.mean(dal), Convention.AUTHORS, unit),
    ]


def simuleval_latency(cut: CutStreams) -> list[Figure]:
    """AP, AL, LAAL and DAL as SimulEval has them."""
    if Convention.SIMULEVAL not in cut.options.conventions():
        return []
    scores: dict[str, list[float]] = {"AP": [], "AL": [], "LAAL": [], "DAL": []}
    for stream, lengths, references in zip(cut.streams, cut.lengths, cut.reference_lengths, strict=True):
        if stream.simuleval_words is not None and cut.options.unit is Unit.WORD:
            references = list(stream.simuleval_words)
        relative = latency.sentence_delays(stream.delays, stream.source_lengths, lengths)
        for delays, source, reference in zip(relative, stream.source_lengths, references, strict=True):
            # SimulEval leaves sentences without words out of its means.
            if delays:
                scores["AP"].append(latency.sentence_ap(delays, source, reference))
                scores["AL"].append(latency.sentence_al(delays, source, reference))
                scores["LAAL"].append(latency.sentence_laal(delays, source, reference))
                scores["DAL"].append(latency.sentence_dal(delays, source))
    group = Convention.SIMULEVAL
    return [
        Figure(name, latency.mean(values), group, "" if name == "AP" else _unit(cut), group=group)
        for name, values in scores.items()
    ]


def streamlaal(cut: CutStreams) -> list[Figure]:
    """StreamLAAL."""
    return _over_streams(cut, Convention.STREAMLAAL, "StreamLAAL", latency.stream_laal)


def longyaal(cut: CutStreams) -> list[Figure]:
    """LongYAAL."""
    return _over_streams(cut, Convention.LONGYAAL, "LongYAAL", latency.stream_yaal)


_Score = Callable[[Sequence[float], Sequence[float], Sequence[int], Sequence[int]], list[float]]
"""Delays, source lengths, target lengths and reference lengths of a stream -> a score for each sentence."""


def _over_streams(cut: CutStreams, convention: Convention, name: str, score: _Score) -> list[Figure]:
    """The mean of a score over the sentences of all streams, if its convention is asked for."""
    if convention not in cut.options.conventions():
        return []
    scores = [
        value
        for stream, lengths, references in zip(cut.streams, cut.lengths, cut.reference_lengths, strict=True)
        for value in score(stream.delays, stream.source_lengths, lengths, references)
    ]
    return [Figure(name, latency.mean(scores), convention, _unit(cut), group=convention)]


def latency_in_seconds(cut: CutStreams) -> list[Figure]:
    """AL and DAL of the authors, StreamLAAL and LongYAAL in seconds of speech, if all source words had times."""
    scores: dict[str, list[float]] = {"AL": [], "DAL": [], "StreamLAAL": [], "LongYAAL": []}
    for number, (stream, lengths) in enumerate(zip(cut.streams, cut.lengths, strict=True)):
        if stream.spoken is None:
            return []
        delays, sources = stream.spoken.delays, stream.spoken.source_lengths
        references = cut.reference_lengths[number]
        scores["AL"] += latency.stream_al(delays, sources, lengths)
        scores["DAL"] += latency.stream_dal(delays, sources, lengths, cut.options.dal_scale)
        scores["StreamLAAL"] += latency.stream_laal(delays, sources, lengths, references)
        scores["LongYAAL"] += latency.stream_yaal(delays, sources, lengths, references)
    return [
        Figure(name, latency.mean(values) / A_SECOND, "in seconds", "seconds", group=IN_SECONDS)
        for name, values in scores.items()
    ]


def bleu(cut: CutStreams) -> list[Figure]:
    return [quality.bleu(cut.hypotheses, cut.references, cut.options.resamples)]


def chrf(cut: CutStreams) -> list[Figure]:
    return [quality.chrf(cut.hypotheses, cut.references, cut.options.resamples)]


def _unit(cut: CutStreams) -> str:
    """Of latency. SimulEval's logs do not say whether they count words or milliseconds."""
    known = all(stream.simuleval_words is None for stream in cut.streams)
    return "source words" if known else ""


MEASURES: list[Measure] = [
    authors_latency,
    simuleval_latency,
    streamlaal,
    longyaal,
    latency_in_seconds,
    bleu,
    chrf,
]
"""In the order in which a table shows their figures."""
