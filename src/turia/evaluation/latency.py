"""Latency: plain functions of delays and lengths, under the conventions that researchers use (METHOD section 6).

A stream is given by three sequences:

    delays          d[i], source words read when target word i was written, in stream coordinates
    source_lengths  |x_n|, source words of each reference sentence (none empty)
    target_lengths  |y_n|, hypothesis words of each sentence after re-segmentation; they add up to len(delays)

Delays go with the words in order: sentence n takes the next |y_n| of them. One sentence is a stream of one, so the
sentence-level figures come from the same functions. Functions named `stream_*` give one score per sentence; a
figure is the mean over the sentences of all streams. Functions named `sentence_*` take the delays of one sentence,
counted from its first source word.

The conventions differ in what they do with a sentence that has no words (the authors score it 0 and count it, the
others leave it out), in the length that sets the ideal pace, and in where they stop counting.

Every function is linear in the number of words. Delays and source lengths may be milliseconds as well as words.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

DAL_SCALE = 0.85
"""The step scale of the paper's figures; the authors' EMNLP 2021 paper has 0.95, the equation as printed has 1."""


def mean(scores: Sequence[float]) -> float:
    """The figure of a corpus; not a number when no sentence could be scored."""
    return sum(scores) / len(scores) if scores else float("nan")


def sentence_delays(
    delays: Sequence[float], source_lengths: Sequence[float], target_lengths: Sequence[int]
) -> list[list[float]]:
    """g_n(t) = d[B_n + t] - A_n: each sentence's delays, counted from its first source word."""
    assert len(source_lengths) == len(target_lengths)
    assert sum(target_lengths) == len(delays)
    assert all(length > 0 for length in source_lengths)
    cut, first = [], 0
    for start, words in zip(accumulate(source_lengths, initial=0), target_lengths, strict=False):
        cut.append([delay - start for delay in delays[first : first + words]])
        first += words
    return cut


# The authors' stream convention.


def stream_ap(delays: Sequence[float], source_lengths: Sequence[float], target_lengths: Sequence[int]) -> list[float]:
    """AP_n = sum_t g_n(t) / (|x_n| |y_n|) (Eqs. 13-17, AP); 0 for an empty hypothesis."""
    relative = sentence_delays(delays, source_lengths, target_lengths)
    return [
        sum(own) / (source * len(own)) if own else 0.0 for own, source in zip(relative, source_lengths, strict=True)
    ]


def stream_al(delays: Sequence[float], source_lengths: Sequence[float], target_lengths: Sequence[int]) -> list[float]:
    """AL_n = (1/tau) sum_{t<=tau} (g_n(t) - (t-1)/gamma_n) with gamma_n = |y_n|/|x_n| (Eqs. 13-17, AL).

    tau is the first word written with the whole source sentence read, or the last word. 0 for an empty hypothesis.
    """
    relative = sentence_delays(delays, source_lengths, target_lengths)
    return [
        _lagging(own, source, pace=source / len(own)) if own else 0.0
        for own, source in zip(relative, source_lengths, strict=True)
    ]


def stream_dal(
    delays: Sequence[float],
    source_lengths: Sequence[float],
    target_lengths: Sequence[int],
    scale: float = DAL_SCALE,
) -> list[float]:
    """DAL_n = (1/|y_n|) sum_t (g'(t) - A_n - (t-1)/gamma_n) (Eqs. 13-17, DAL).

    g'(t) = max(d_t, g'(t-1) + scale/gamma*) runs over the whole stream in stream coordinates. gamma* is that of the
    sentence before for the first word of a sentence, and the sentence's own for the others. The first word of the
    stream has no predecessor. After a sentence without words the first g' is the last one as it stands, without a
    look at the real delay: so do the authors' scripts, and published figures depend on it.
    """
    assert len(source_lengths) == len(target_lengths)
    assert sum(target_lengths) == len(delays)
    assert all(length > 0 for length in source_lengths)
    scores: list[float] = []
    previous: float | None = None
    """g' of the word before."""
    previous_pace = 0.0
    """1/gamma of the sentence before; 0 where that had no words."""
    start, first = 0.0, 0
    for source, words in zip(source_lengths, target_lengths, strict=True):
        pace = source / words if words else 0.0
        total = 0.0
        for t, delay in enumerate(delays[first : first + words]):
            if previous is None:
                paced = delay
            elif t == 0:
                paced = max(delay, previous + scale * previous_pace) if previous_pace else previous
            else:
                paced = max(delay, previous + scale * pace)
            total += paced - start - t * pace
            previous = paced
        scores.append(total / words if words else 0.0)
        previous_pace = pace
        start, first = start + source, first + words
    return scores


# SimulEval's convention: one sentence at a time, the reference's length in the pace (Ma et al. 2020,
# simuleval/evaluator/scorers/latency_scorer.py of version 1.1).


def sentence_ap(delays: Sequence[float], source: float, reference: int) -> float:
    """AP = sum_t g(t) / (|x| |y*|) with the reference's length |y*|, so over 1 where the hypothesis is longer."""
    return sum(delays) / (source * _counted(reference))


def sentence_al(delays: Sequence[float], source: float, reference: int) -> float:
    """AL = (1/tau) sum_{t<=tau} (g(t) - (t-1) |x|/|y*|) with the reference's length |y*| (Ma et al. 2019).

    A first word written later than the end of the source scores its own delay.
    """
    return _lagging(delays, source, pace=source / _counted(reference))


def sentence_laal(delays: Sequence[float], source: float, reference: int) -> float:
    """LAAL: AL with the longer of hypothesis and reference in the pace (Polák et al. 2022; Papi et al. 2022)."""
    return _lagging(delays, source, pace=source / max(len(delays), _counted(reference)))


def sentence_dal(delays: Sequence[float], source: float) -> float:
    """DAL with the hypothesis's own length and without a scale (Arivazhagan et al. 2019, as SimulEval has it).

    On the delays of one sentence this is `stream_dal` of a stream of one with scale 1.
    """
    return stream_dal(delays, [source], [len(delays)], scale=1.0)[0]


# Long-form conventions.


def stream_laal(
    delays: Sequence[float],
    source_lengths: Sequence[float],
    target_lengths: Sequence[int],
    reference_lengths: Sequence[int],
) -> list[float]:
    """StreamLAAL: LAAL of each re-segmented sentence, delays counted from its start (Papi et al. 2024).

    Sentences without words are left out. A word that is written before its sentence begins has a negative delay, as
    in the paper and in simulstream 1.0; the older script in FBK-fairseq took 0 for it.
    """
    relative = sentence_delays(delays, source_lengths, target_lengths)
    return [
        sentence_laal(own, source, reference)
        for own, source, reference in zip(relative, source_lengths, reference_lengths, strict=True)
        if own
    ]


def stream_yaal(
    delays: Sequence[float],
    source_lengths: Sequence[float],
    target_lengths: Sequence[int],
    reference_lengths: Sequence[int],
) -> list[float]:
    """LongYAAL: lagging with LAAL's pace over all words written before the stream has ended (Polák et al. 2025).

    The end of a sentence does not end its sum; words written when the whole stream has been read are not counted, and
    a sentence that has no other words is left out. As in OmniSTEval 0.1, given the same segments.
    """
    relative = sentence_delays(delays, source_lengths, target_lengths)
    rest = sum(source_lengths)
    """Source words from the sentence's start to the end of the stream."""
    scores: list[float] = []
    for own, source, reference in zip(relative, source_lengths, reference_lengths, strict=True):
        score = sentence_yaal(own, source, reference, end=rest)
        if score is not None:
            scores.append(score)
        rest -= source
    return scores


def sentence_yaal(delays: Sequence[float], source: float, reference: int, end: float) -> float | None:
    """YAAL: LAAL without the words written when the source had ended, at `end`; None when that leaves no word."""
    pace = source / max(len(delays), _counted(reference))
    total, counted = 0.0, 0
    for delay in delays:
        if delay >= end:
            break
        total += delay - counted * pace
        counted += 1
    return total / counted if counted else None


def _lagging(delays: Sequence[float], source: float, pace: float) -> float:
    """(1/tau) sum_{t<=tau} (g(t) - (t-1) pace), tau the first word with g(tau) >= |x|, or the last."""
    total = 0.0
    for t, delay in enumerate(delays):
        total += delay - t * pace
        if delay >= source:
            return total / (t + 1)
    return total / len(delays)


def _counted(reference: int) -> int:
    """SimulEval and OmniSTEval count an empty reference as one word."""
    return max(reference, 1)
