"""What OmniSTEval's `longform` scorer reads: one JSON line a recording, the segments of the reference, the references.

    hypothesis.jsonl   {"source":"stream-000","prediction":"...","delays":[3000.0,...],"source_length":30000.0}
    segments.yaml      - {wav: "stream-000.wav", offset: 0.0, duration: 6.0}
    reference.txt      one reference sentence a line

Delays are milliseconds of the recording, segments are seconds (see `recording`). A word written when the recording has
ended is one whose delay is not below the end of the last segment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from turia.formats.recording import Recording

HYPOTHESIS_FILE, SEGMENTS_FILE, REFERENCE_FILE = "hypothesis.jsonl", "segments.yaml", "reference.txt"


def omnisteval_files(recordings: Sequence[Recording]) -> dict[str, str]:
    """The files of `omnisteval longform --word_level`."""
    lines = []
    for recording in recordings:
        delays = [1000 * delay for delay in recording.delays()]
        length = sum(1000 * segment.duration for segment in recording.segments())
        line = {"source": recording.name, "prediction": " ".join(recording.trace.words()), "delays": delays}
        lines.append(json.dumps(line | {"source_length": length}) + "\n")
    return {HYPOTHESIS_FILE: "".join(lines)} | segment_files(recordings)


def segment_files(recordings: Sequence[Recording]) -> dict[str, str]:
    """Segments and references of all recordings, line by line."""
    segments, references = [], []
    for recording in recordings:
        for segment, reference in zip(recording.segments(), recording.log.references, strict=True):
            place = f"offset: {segment.offset!r}, duration: {segment.duration!r}"
            segments.append(f'- {{wav: "{recording.name}.wav", {place}}}\n')
            references.append(f"{reference}\n")
    return {SEGMENTS_FILE: "".join(segments), REFERENCE_FILE: "".join(references)}
