"""The logs of the paper's authors: READs and WRITEs as `R W R W`, the hypothesis, the source and the reference.

For each stream NAME: NAME.actions (one line, a W for each word of the hypothesis), NAME.hypothesis (a line for each
sentence that the system closed), NAME.source and NAME.reference. `turia evaluate --hypothesis --actions` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from turia.formats.recording import Recording
from turia.stream.actions import format_actions
from turia.stream.delays import actions_from_delays


def actions_files(recordings: Sequence[Recording]) -> dict[str, str]:
    """Four files for each stream."""
    files: dict[str, str] = {}
    for recording in recordings:
        trace, name = recording.trace, recording.name
        sentences = groupby(trace.writes(), key=lambda write: write.sentence)
        files[f"{name}.actions"] = format_actions(actions_from_delays(trace.delays(), trace.source_words())) + "\n"
        files[f"{name}.hypothesis"] = (
            # A file with nothing in it would be taken for one that was lost.
            _lines(" ".join(write.word for write in writes) for _, writes in sentences) or "\n"
        )
        files[f"{name}.source"] = _lines(recording.source)
        files[f"{name}.reference"] = _lines(recording.log.references)
    return files


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
