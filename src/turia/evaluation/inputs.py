"""From files to streams that can be scored. Whatever does not fit is refused with its file, line and cause.

    source       one reference sentence's source a line: only its word counts matter
    reference    the same sentences' translations
    trace        what Turia wrote, or instead of it
    hypothesis   the words, cut into lines in any way, with
    actions      the READs and WRITEs that led to them
    resegmented  the hypothesis cut at the reference's sentences by somebody else, to use in place of our own cuts

Lines end with a newline and with nothing else; words are parted by white space.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from turia.errors import FormatError, InputError
from turia.stream.actions import Action, parse_actions
from turia.stream.delays import delays_from_actions
from turia.stream.times import sentence_times
from turia.stream.trace import End, SentenceEnd, Trace, Write, parse_trace
from turia.text.counted import counted

A_SECOND = 1_000_000
"""In microseconds."""
_COMPRESSED = {b"\x1f\x8b": "gunzip", b"\xfd7zXZ\x00": "unxz", b"BZh": "bunzip2", b"\x28\xb5\x2f\xfd": "unzstd"}
"""How compressed files begin, and what unpacks them."""


@dataclass(frozen=True)
class Microseconds:
    """Delays and source lengths of a stream in microseconds of the speech.

    Whole numbers, because whether a word waited for the end of its sentence must not depend on the rounding of sums.
    """

    delays: Sequence[int]
    source_lengths: Sequence[int]


@dataclass(frozen=True)
class StreamLog:
    """One stream: what was said, what should have been written, what was written and when."""

    source_lengths: Sequence[float]
    references: Sequence[str]
    words: Sequence[str]
    delays: Sequence[float]
    segments: Sequence[Sequence[str]] | None = None
    """The words cut at the references, where somebody else has done it."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """From the trace: k, window, history, gamma, rounding, ..."""
    spoken: Microseconds | None = None
    """From a trace whose source words had times."""
    simuleval_words: Sequence[int] | None = None
    """The references' words as SimulEval counts them in a log of its own."""

    def __post_init__(self) -> None:
        assert len(self.source_lengths) == len(self.references) > 0
        assert len(self.words) == len(self.delays)
        assert all(length > 0 for length in self.source_lengths)


def load_streams(
    sources: Sequence[Path],
    references: Sequence[Path],
    traces: Sequence[Path] = (),
    hypotheses: Sequence[Path] = (),
    actions: Sequence[Path] = (),
    resegmented: Sequence[Path] = (),
    sentences: bool = False,
) -> list[StreamLog]:
    """Any number of streams, their files in step; `sentences` makes each line a stream of its own."""
    if bool(traces) == bool(hypotheses or actions) or bool(hypotheses) != bool(actions):
        raise InputError("expected either a trace, or a hypothesis with its actions, for each stream")
    if sentences and (traces or resegmented):
        raise InputError("sentence by sentence, expected a hypothesis with its actions and nothing re-segmented")
    check_in_step(
        sources,
        {
            "reference": references,
            "trace": traces,
            "hypothesis": hypotheses,
            "actions": actions,
            "resegmented": resegmented,
        },
    )
    cuts: Sequence[Path | None] = resegmented or [None] * len(sources)
    if traces:
        return [stream_from_trace(*paths) for paths in zip(sources, references, traces, cuts, strict=True)]
    if sentences:
        quadruples = zip(sources, references, hypotheses, actions, strict=True)
        return [stream for paths in quadruples for stream in sentences_from_actions(*paths)]
    return [stream_from_actions(*paths) for paths in zip(sources, references, hypotheses, actions, cuts, strict=True)]


def check_in_step(sources: Sequence[Path], others: Mapping[str, Sequence[Path]]) -> None:
    """Of each kind of file that is given, there is one for each source."""
    for name, given in others.items():
        if given and len(given) != len(sources):
            raise InputError(
                f"{len(sources)} x source, but {len(given)} x {name}: repeat the options in step, once per stream"
            )


def stream_from_trace(source: Path, reference: Path, trace: Path, resegmented: Path | None = None) -> StreamLog:
    """The stream that a trace of Turia's records."""
    log, _, _ = read_traced(source, reference, trace, resegmented)
    return log


def read_traced(
    source: Path, reference: Path, trace: Path, resegmented: Path | None = None
) -> tuple[StreamLog, Trace, list[str]]:
    """The stream that a trace of Turia's records, the trace, and the lines of the source.

    Each file is read once: it may be a pipe.
    """
    sources, references = read_sentences(source, reference)
    lengths = _word_counts(sources)
    record = parse_trace(read_lines(trace), str(trace), sum(lengths))
    _check_whole(record, sum(lengths), trace)
    words = record.words()
    segments = _read_segments(resegmented, words, len(references))
    spoken = _spoken(record, lengths)
    log = StreamLog(lengths, references, words, record.delays(), segments, record.settings, spoken)
    return log, record, sources


def sentences_from_trace(source: Path, reference: Path, trace: Path) -> list[StreamLog]:
    """Each sentence as a stream of its own. The trace is of a stream whose sentences were those of the source file."""
    sources, references = read_sentences(source, reference)
    lengths = _word_counts(sources)
    record = parse_trace(read_lines(trace), str(trace), sum(lengths))
    _check_whole(record, sum(lengths), trace)
    ends = list(accumulate(lengths))
    words: list[list[str]] = [[] for _ in lengths]
    delays: list[list[int]] = [[] for _ in lengths]
    begin = 0
    """Source words before the sentence that is being written; a long one may have been cut."""
    for written in record.records:
        if isinstance(written, Write):
            line = bisect_right(ends, begin)
            if line == len(ends) or written.read > ends[line]:
                raise FormatError("a word was written after its sentence; expected a stream cut at the source", trace)
            words[line].append(written.word)
            delays[line].append(written.read - (ends[line] - lengths[line]))
        elif isinstance(written, SentenceEnd):
            begin += written.source_words
    return [
        StreamLog([length], [text], said, when, [said], record.settings)
        for length, text, said, when in zip(lengths, references, words, delays, strict=True)
    ]


def _spoken(trace: Trace, source_lengths: Sequence[int]) -> Microseconds | None:
    """Delays and lengths in time, if all words have times and every sentence takes some time; else None."""
    delays, ends = trace.delays_in_seconds(), trace.source_ends()
    if delays is None or ends is None or len(ends) != sum(source_lengths):
        return None
    lengths = sentence_times([round(A_SECOND * end) for end in ends], source_lengths)
    if any(length <= 0 for length in lengths):
        return None
    return Microseconds([round(A_SECOND * delay) for delay in delays], lengths)


def stream_from_actions(
    source: Path, reference: Path, hypothesis: Path, actions: Path, resegmented: Path | None = None
) -> StreamLog:
    """The stream that a hypothesis and its actions record, as the authors' logs do."""
    sources, references = read_sentences(source, reference)
    lengths = _word_counts(sources)
    lines = read_lines(hypothesis, may_be_blank=True)
    text = read_text(actions, may_be_blank=True)
    steps = parse_actions(text, str(actions))
    _check_counts(steps, lines, sum(lengths), hypothesis, actions, text)
    words = [word for line in lines for word in line.split()]
    segments = _read_segments(resegmented, words, len(references))
    return StreamLog(lengths, references, words, delays_from_actions(steps), segments)


def sentences_from_actions(source: Path, reference: Path, hypothesis: Path, actions: Path) -> list[StreamLog]:
    """Each line a stream of its own: one sentence, its hypothesis and its own actions (as SimulEval's logs)."""
    sources, references = read_sentences(source, reference)
    lengths = _word_counts(sources)
    lines = read_lines(hypothesis, may_be_blank=True)
    logs = read_lines(actions)
    for path, given in ((hypothesis, lines), (actions, logs)):
        _check_line_count(path, len(given), reference, len(references))
    streams = []
    for number, (line, log) in enumerate(zip(lines, logs, strict=True)):
        try:
            steps = parse_actions(log)
        except FormatError as error:
            raise FormatError(str(error), actions, number + 1) from None
        delays, words, source_words = delays_from_actions(steps), line.split(), lengths[number]
        if len(delays) != len(words):
            raise FormatError(
                f"{counted(len(delays), 'write')}, but that line of {hypothesis} has {counted(len(words), 'word')}",
                actions,
                number + 1,
            )
        # Fewer are no fault: a system may end a sentence before it has read all of it.
        reads = len(steps) - len(words)
        if reads > source_words:
            raise FormatError(
                f"{counted(reads, 'read')}, but that line of {source} has {counted(source_words, 'word')}",
                actions,
                number + 1,
            )
        streams.append(StreamLog([source_words], [references[number]], words, delays))
    return streams


def read_sentences(source: Path, reference: Path) -> tuple[list[str], list[str]]:
    """The same sentences in both files."""
    sources, references = read_lines(source), read_lines(reference)
    _check_line_count(source, len(sources), reference, len(references))
    for number, line in enumerate(sources, start=1):
        if not line.strip():
            raise FormatError(
                "an empty line: a sentence without source words has no latency; drop it here and in the reference",
                source,
                number,
            )
    return sources, references


def _word_counts(lines: Sequence[str]) -> list[int]:
    return [len(line.split()) for line in lines]


def read_lines(path: Path, may_be_blank: bool = False) -> list[str]:
    """The lines of a UTF-8 file, without their ends; the last newline begins no further line."""
    lines = read_text(path, may_be_blank).split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_text(path: Path, may_be_blank: bool = False) -> str:
    """A UTF-8 file with something in it: words, or with `may_be_blank` at least an empty line.

    A hypothesis and its actions may be blank, as a trace may be without words: a system that wrote nothing has a score.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        for begins, unpacks in _COMPRESSED.items():
            if data.startswith(begins):
                raise FormatError(f"a compressed file; unpack it first ({unpacks})", path) from error
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"not UTF-8: byte 0x{data[error.start]:02x}; convert the file to UTF-8", path, line
        ) from error
    if not text.strip() and not (text and may_be_blank):
        raise FormatError("an empty file", path)
    return text


def _read_segments(path: Path | None, words: Sequence[str], sentences: int) -> list[list[str]] | None:
    """Somebody else's cuts. mwerSegmenter writes lower case, so the words themselves are compared without case."""
    if path is None:
        return None
    segments = [line.split() for line in read_lines(path, may_be_blank=True)]
    if len(segments) != sentences:
        line = min(len(segments), sentences + 1)
        raise FormatError(
            f"{counted(len(segments), 'line')}, expected one for each reference ({sentences})", path, line
        )
    numbered = [(line, word) for line, segment in enumerate(segments, start=1) for word in segment]
    for (line, word), expected in zip(numbered, words, strict=False):
        if word.casefold() != expected.casefold():
            raise FormatError(f"found {word!r} where the hypothesis has {expected!r}", path, line)
    if len(numbered) != len(words):
        raise FormatError(f"{counted(len(numbered), 'word')}, but the hypothesis has {len(words)}", path, len(segments))
    # The hypothesis's own spelling: quality is measured with case.
    rest = iter(words)
    return [[next(rest) for _ in segment] for segment in segments]


def _check_whole(trace: Trace, source_words: int, path: Path) -> None:
    """Refuses a stream that was interrupted: the words that are missing would be scored as bad translation."""
    if not trace.records or not isinstance(trace.records[-1], End):
        raise FormatError('the trace is not whole: its last line is no "type":"end"; translate the source again', path)
    if trace.source_words() < source_words:
        cause = f"the stream ended after {counted(trace.source_words(), 'word')}, but the source has {source_words}"
        raise FormatError(f"{cause}; translate the source again", path)


def _check_line_count(path: Path, lines: int, reference: Path, references: int) -> None:
    if lines != references:
        shorter = path if lines < references else reference
        raise FormatError(
            f"ends here: {path} has {counted(lines, 'line')}, but {reference} has {references}",
            shorter,
            min(lines, references),
        )


def _check_counts(
    steps: Sequence[Action], lines: Sequence[str], source_words: int, hypothesis: Path, actions: Path, text: str
) -> None:
    """As many writes as words, and as many reads as the source has words.

    Fewer reads are a stream that was interrupted, or a log that was: see `_check_whole`.
    """
    words = sum(len(line.split()) for line in lines)
    writes = steps.count(Action.WRITE)
    counts = f"{counted(writes, 'write')}, but {hypothesis} has {counted(words, 'word')}"
    if writes > words:
        raise FormatError(counts, actions, _line_of_letter(text, "W", words))
    if writes < words:
        raise FormatError(counts, actions, len(text.splitlines()))
    reads = len(steps) - writes
    if reads > source_words:
        raise FormatError(
            f"{counted(reads, 'read')}, but the source has {counted(source_words, 'word')}",
            actions,
            _line_of_letter(text, "R", source_words),
        )
    if reads < source_words:
        raise FormatError(
            f"ends after {counted(reads, 'read')}, but the source has {counted(source_words, 'word')}; if the system "
            "was done before it had read them, write an R for each of the others at the end",
            actions,
            len(text.splitlines()),
        )


def _line_of_letter(text: str, letter: str, index: int) -> int:
    """The line that holds occurrence `index` (0-based) of a letter."""
    seen = accumulate(line.count(letter) for line in text.splitlines())
    return next(number for number, count in enumerate(seen, start=1) if count > index)
