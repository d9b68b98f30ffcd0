"""Lists of the words that a language has."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.errors import ModelError
from turia.text import known_words as lists
from turia.text.known_words import FILES, given_word_files, known_words, read_words, word_files, write_words


def test_words_are_counted_without_marks_and_capitals() -> None:
    counts = {"Haus": 2, "haus,": 1, "Haus-Boot": 1, "z.B.": 3, "17": 9, "x": 9, "selten": 1}
    assert known_words(counts) == ["haus"]


def test_the_most_frequent_words_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "MOST_WORDS", 3)
    assert known_words({"der": 5, "und": 9, "haus": 5, "boot": 2, "alt": 5}) == ["und", "alt", "der"]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_words(tmp_path, {"haus": 2, "über": 3}, {"House": 2})
    assert (tmp_path / FILES[0]).read_text(encoding="utf-8") == "über\nhaus\n"
    assert [read_words(tmp_path / name) for name in FILES] == [{"haus", "über"}, {"house"}]
    assert given_word_files(tmp_path) == word_files(tmp_path) == [tmp_path / name for name in FILES]


def test_one_list_alone_is_none(tmp_path: Path) -> None:
    (tmp_path / FILES[0]).write_text("haus\n")
    assert word_files(tmp_path) == []
    with pytest.raises(ModelError, match=r"no source\.words\.txt and target\.words\.txt; expected data that"):
        given_word_files(tmp_path)


def test_a_damaged_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILES[0]
    with pytest.raises(ModelError, match=r"source\.words\.txt: no such file"):
        read_words(path)
    path.write_bytes(b"haus\n\xff\n")
    with pytest.raises(ModelError, match=r"source\.words\.txt: not UTF-8"):
        read_words(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ModelError, match="cannot be read: Is a directory"):
        read_words(path)
