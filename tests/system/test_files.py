"""Files and folders that are whole or not there, and nothing left beside them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from turia.errors import FormatError, InputError, ModelError
from turia.system.files import MOST_JSON, read_json, remove_leftovers, replacing, write_file


def content(folder: Path) -> dict[str, str]:
    """All files below a folder, hidden ones too."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def fill(folder: Path, **texts: str) -> None:
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def test_a_file_is_written_with_its_folder_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one" / "best.json"
    write_file(path, "erste\r\nZeile\n")
    assert path.read_bytes() == b"erste\r\nZeile\n"
    write_file(path, "zweite ä".encode())
    assert content(tmp_path) == {"runs/one/best.json": "zweite ä"}
    assert [entry.name for entry in path.parent.iterdir()] == ["best.json"]


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def half() -> None:
        with replacing(path) as new:
            new.write_text("ha", encoding="utf-8")
            raise OSError("no more")

    for before in ({}, {"file": "old"}):
        with pytest.raises(OSError, match="no more"):
            half()
        assert content(tmp_path) == before
        assert len(list(tmp_path.iterdir())) == len(before)
        path.write_text("old", encoding="utf-8")


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    with replacing(folder) as new:
        fill(new, a="1", b="2")
        assert not folder.exists()
    with replacing(folder) as new:
        fill(new, a="3")
        assert content(folder) == {"a": "1", "b": "2"}, "the old one is there until the new one is complete"
    assert content(tmp_path) == {"export/a": "3"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["export"]


def test_a_folder_that_cannot_be_put_in_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "export"
    fill(folder, a="1")
    rename = Path.rename

    def refuse_the_new_one(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse_the_new_one)
    with pytest.raises(PermissionError), replacing(folder) as new:
        fill(new, a="2")
    assert content(tmp_path) == {"export/a": "1"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["export"]


def test_content_is_on_the_disk_before_the_name_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        assert not (tmp_path / "export").exists()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    with replacing(tmp_path / "export") as new:
        fill(new, a="1")
        fill(new / "below", b="2")
    files = [path for path in (tmp_path / "export").rglob("*") if path.is_file()]
    assert sorted(synced) == sorted(path.stat().st_ino for path in files)


def test_others_may_read_what_they_usually_may(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.write_text("", encoding="utf-8")
    write_file(tmp_path / "file", "")
    with replacing(tmp_path / "folder") as new:
        new.mkdir()
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) | 0o111 == stat.S_IMODE(usual.stat().st_mode) | 0o111


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    fill(tmp_path / "step-5", a="1")
    fill(tmp_path / ".step-10.x1y2.partial", new="2")
    fill(tmp_path / "step-10.partial", a="3")  # as release 0.1 named it
    remove_leftovers(tmp_path)
    assert content(tmp_path) == {"step-5/a": "1"}


def test_a_json_file_is_read(tmp_path: Path) -> None:
    write_file(tmp_path / "a.json", '{"gamma": 1.5, "name": "ä"}')
    assert read_json(tmp_path / "a.json", "a run", ModelError) == {"gamma": 1.5, "name": "ä"}


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (None, "no such file; expected a run folder"),
        (b"{", "not JSON: Expecting property name"),
        (b"\xff", "not JSON: 'utf-8' codec can't decode"),
        (b"[1]", "expected a JSON object"),
    ],
)
def test_what_is_no_json_file_is_said_in_one_line(tmp_path: Path, content: bytes | None, cause: str) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FormatError) as refused:
        read_json(path, "a run folder", FormatError)
    assert str(refused.value).startswith(f"{path}: {cause}")


def test_a_folder_in_place_of_a_file_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read: Is a directory; expected a run folder"):
        read_json(tmp_path, "a run folder", ModelError)


def test_what_is_no_plain_file_or_too_large_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        with pytest.raises(InputError, match=f"{name}: cannot be read: not a plain file; expected something"):
            read_json(tmp_path / name, "something", InputError)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MOST_JSON + 1)
    with pytest.raises(InputError, match=f"{MOST_JSON + 1} bytes, expected at most {MOST_JSON}"):
        read_json(tmp_path / "large", "something", InputError)


def test_brackets_without_end_are_not_json(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="not JSON: maximum recursion depth"):
        read_json(tmp_path / "deep.json", "something", InputError)
