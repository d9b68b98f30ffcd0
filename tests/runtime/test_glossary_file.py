"""A glossary in a file: read, and read again when somebody has changed it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.fakes import Echo, fake_model
from turia.errors import InputError
from turia.runtime.glossary_file import LOOK_SECONDS, GlossaryFile, read_glossary


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.csv: cannot read the glossary: No such file"):
        read_glossary(tmp_path / "none.csv")
    table = tmp_path / "terms.csv"
    table.write_bytes("Grüne,Greens".encode("latin-1"))
    with pytest.raises(InputError, match=r"terms.csv: not UTF-8 at byte 2; save the table as UTF-8$"):
        read_glossary(table)
    table.write_bytes(b"x" * 300_000)
    with pytest.raises(InputError, match=r"terms.csv: more than 128 KB"):
        read_glossary(table)


def test_a_changed_file_is_read_again_and_a_bad_one_is_told_of_once(tmp_path: Path) -> None:
    now = [0.0]
    warnings: list[str] = []
    path = tmp_path / "terms.tsv"
    path.write_text("ka\tmiso\n")
    file = GlossaryFile(path, fake_model(Echo()), warnings.append, lambda: now[0])
    first = file.current()
    path.write_text("ka\tmiso\nle\tno\n")
    assert file.current() is first  # too early to look again
    now[0] += LOOK_SECONDS
    assert len(second := file.current()) == 2
    for bad in ("ka\ta\tb\n", "ka\t" + "z" * 60 + "\n", None):
        if bad is None:
            os.remove(path)
        else:
            path.write_text(bad)
        for _ in range(3):
            now[0] += LOOK_SECONDS
            assert file.current() is second
            assert file.problem == warnings[-1].removesuffix("; the glossary stays as it was")
    assert [text.rpartition(";")[2] for text in warnings] == [" the glossary stays as it was"] * 3
    assert "case is 'b'" in warnings[0]
    assert "cannot spell" in warnings[1]
    assert "No such file" in warnings[2]
    path.write_text("no\tka\n")
    now[0] += LOOK_SECONDS
    assert [str(term) for term in file.current().terms] == ["no"]
    assert file.problem is None


def test_a_file_that_the_model_cannot_spell_is_refused_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("ka\t" + "z" * 60)
    with pytest.raises(InputError, match="cannot spell"):
        GlossaryFile(path, fake_model(Echo()), print)
