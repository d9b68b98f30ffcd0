"""A finished stream as others' formats need it: its trace, with the sentences that were said and their references.

Others measure time in seconds of a recording. A stream whose source words had times is written with those; in one that
had none, a word takes one second, so that their seconds are our words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from turia.errors import InputError, ResourceError
from turia.evaluation.inputs import A_SECOND, StreamLog, check_in_step, read_traced
from turia.stream.trace import Trace
from turia.system.files import write_file

_TINY = 1e-6


@dataclass(frozen=True)
class Segment:
    """Where a reference sentence lies in the recording, in seconds."""

    offset: float
    duration: float


@dataclass(frozen=True)
class Recording:
    """One stream. `name` stands for the recording, and no other stream of a conversion has it."""

    name: str
    source: Sequence[str]
    """One reference sentence's source an entry."""
    log: StreamLog
    trace: Trace

    @property
    def timed(self) -> bool:
        return self.log.spoken is not None

    @property
    def _unit(self) -> int:
        """How many units of the log's numbers are a second."""
        return A_SECOND if self.timed else 1

    def delays(self) -> list[float]:
        """In seconds of the recording."""
        return [delay / self._unit for delay in (self.log.spoken or self.log).delays]

    def segments(self) -> list[Segment]:
        lengths = (self.log.spoken or self.log).source_lengths
        starts = accumulate(lengths, initial=0)
        segments = [Segment(start / self._unit, own / self._unit) for start, own in zip(starts, lengths, strict=False)]
        if self.timed:
            # Whoever adds fractions of seconds up must not find the end of the recording after its last word.
            segments[-1] = replace(segments[-1], duration=segments[-1].duration - _TINY)
        return segments


def load_recordings(sources: Sequence[Path], references: Sequence[Path], traces: Sequence[Path]) -> list[Recording]:
    """Streams whose files are given in step, checked as for an evaluation."""
    check_in_step(sources, {"reference": references, "trace": traces})
    recordings = []
    for number, paths in enumerate(zip(sources, references, traces, strict=True)):
        log, trace, source = read_traced(*paths)
        recordings.append(Recording(f"stream-{number:03d}", source, log, trace))
    if len({recording.timed for recording in recordings}) > 1:
        raise InputError("some traces have the times of their source words and some have not; convert them apart")
    return recordings


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Writes texts under their names; the folder is made if it is not there."""
    try:
        for name, text in files.items():
            write_file(folder / name, text)
    except OSError as error:
        raise ResourceError(f"{folder}: cannot be written: {error.strerror}") from error
