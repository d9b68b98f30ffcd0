"""Where logs for others are written: a folder of their own, or one that was written before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.formats.streams import made_up, write
from turia.errors import InputError


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    stream = made_up(tmp_path, 1, timed=False)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "config.yaml").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="project is there and not empty; choose another place"):
        write(folder, "simuleval", [stream])
    assert [file.name for file in folder.iterdir()] == ["config.yaml"]
    assert (folder / "config.yaml").read_text(encoding="utf-8") == "mine"
    with pytest.raises(InputError, match=r"1\.source is there and is no folder"):
        write(stream[0], "simuleval", [stream])
    # What was converted before may be converted again.
    once = (write(tmp_path / "log", "simuleval", [stream]) / "instances.log").read_bytes()
    (tmp_path / "log" / "instances.log").write_text("", encoding="utf-8")
    assert (write(tmp_path / "log", "simuleval", [stream]) / "instances.log").read_bytes() == once


def test_files_may_be_pipes(tmp_path: Path) -> None:
    stream = made_up(tmp_path, 1, timed=False)
    pipes = []
    for file in stream:
        reader, writer = os.pipe()
        with open(writer, "wb") as end:  # what a pipe holds is more than the file has
            end.write(file.read_bytes())
        pipes.append(Path(f"/dev/fd/{reader}"))
    source, reference, trace = pipes
    folder = write(tmp_path / "pipes", "actions", [(source, reference, trace)])
    expected = write(tmp_path / "files", "actions", [stream])
    for pipe in pipes:
        os.close(int(pipe.name))
    assert {file.name: file.read_text() for file in folder.iterdir()} == {
        file.name: file.read_text() for file in expected.iterdir()
    }
