"""`turia convert`: traces in the formats that other people's scorers read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from turia.formats.actions_log import actions_files
from turia.formats.omnisteval_log import omnisteval_files
from turia.formats.recording import Recording, load_recordings, write_files
from turia.formats.simuleval_log import simuleval_files
from turia.formats.simulstream_log import simulstream_files
from turia.runtime.folder import check_empty

LogFormat = Literal["simuleval", "omnisteval", "simulstream", "actions"]
FILES: dict[LogFormat, Callable[[Sequence[Recording]], dict[str, str]]] = {
    "simuleval": simuleval_files,
    "omnisteval": omnisteval_files,
    "simulstream": simulstream_files,
    "actions": actions_files,
}


def convert(
    folder: Path, kind: LogFormat, sources: Sequence[Path], references: Sequence[Path], traces: Sequence[Path]
) -> list[Path]:
    """Writes the files of a format into `folder`; their paths."""
    files = FILES[kind](load_recordings(sources, references, traces))
    # What was written here before may be written again; a file of the same name alone may be anybody's.
    if not all((folder / name).is_file() for name in files):
        check_empty(folder)
    write_files(folder, files)
    return [folder / name for name in files]
