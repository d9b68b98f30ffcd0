"""Capitals and spaces that a corpus has lost."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from turia.cli import main
from turia.corpus.recasing import Caser, recase
from turia.errors import InputError

WRITTEN = [
    ("Gestern haben Sie das Haus gesehen.", "Yesterday you saw the house."),
    ("Dort sehen Sie die Zeitung.", "There you see the newspaper."),
    ("Dort lesen sie die Zeitung.", "There they read the newspaper."),
    ("Heute haben sie das Haus gesehen.", "Today they saw the house."),
    ("Er will heute essen.", "He wants to eat today."),
    ("Mir schmeckt das Essen.", "I like the food."),
    ("Er liest die BBC.", "He reads the BBC."),
]


@pytest.fixture(scope="module")
def caser() -> Caser:
    learned = Caser("de")
    learned.learn(WRITTEN * 30)
    return learned


def test_marks_join_their_words_and_sentences_begin_with_a_capital(caser: Caser) -> None:
    assert caser.written('er liest : " die zeitung " . das haus !', "") == 'Er liest: "Die Zeitung". Das Haus!'


def test_a_name_keeps_all_its_capitals(caser: Caser) -> None:
    assert caser.written("er liest die bbc .", "") == "Er liest die BBC."


def test_the_words_beside_it_decide(caser: Caser) -> None:
    assert caser.written("er will das essen , er will heute essen .", "") == "Er will das Essen, er will heute essen."


def test_the_translation_decides_where_nothing_else_does(caser: Caser) -> None:
    assert caser.written("gestern sehen sie heute .", "Yesterday you see today.") == "Gestern sehen Sie heute."
    assert caser.written("gestern lesen sie heute .", "Yesterday they see today.") == "Gestern lesen sie heute."


def test_a_compound_is_written_as_its_last_part(caser: Caser) -> None:
    assert caser.written("er liest die tageszeitung .", "") == "Er liest die Tageszeitung."
    assert caser.written("er will die bbc-zeitung lesen .", "") == "Er will die BBC-Zeitung lesen."
    assert caser.written("er will xyz .", "") == "Er will xyz."


def lines_of(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def write(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.writelines("\t".join(row) + "\n" for row in rows)
    return path


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return write(tmp_path / "written.tsv.xz", [("a", *pair) for pair in WRITTEN * 30])


def test_a_corpus(tmp_path: Path, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("t1", "er liest die zeitung .", "He reads"), ("t2", "Er las die zeitung .", "He read"), ("t3", "", "none")]
    lower, out = write(tmp_path / "lower.tsv.xz", rows), tmp_path / "out.tsv.xz"
    assert main(["recase", str(lower), "de", str(out), "--like", str(examples)]) == 0
    assert capsys.readouterr().err == "1 of 3 lines recased, by 210 pairs of written text\n"
    assert lines_of(out) == [
        "t1\tEr liest die Zeitung.\tHe reads",
        "t2\tEr las die zeitung .\tHe read",
        "t3\t\tnone",
    ]


def test_the_other_column(tmp_path: Path, examples: Path) -> None:
    turned = write(tmp_path / "turned.tsv.xz", [("a", english, german) for german, english in WRITTEN])
    lower = write(tmp_path / "lower.tsv.xz", [("t1", "He reads", "er liest die zeitung .")])
    recase(lower, "de", [turned], tmp_path / "out.tsv.xz", ("en", "de"))
    assert lines_of(tmp_path / "out.tsv.xz") == ["t1\tHe reads\tEr liest die Zeitung."]


def test_what_cannot_be_done_is_said_and_leaves_nothing(tmp_path: Path, examples: Path) -> None:
    lower, out = write(tmp_path / "lower.tsv.xz", [("t1", "er liest .", "he reads .")]), tmp_path / "out.tsv.xz"
    with pytest.raises(InputError, match="no column 'fr' among de, en"):
        recase(lower, "fr", [examples], out)
    with pytest.raises(InputError, match=r"out\.tsv: the new corpus is packed by xz; give it a name that ends in"):
        recase(tmp_path / "never read.tsv", "de", [examples], tmp_path / "out.tsv")
    with pytest.raises(InputError, match="no capitals to learn from"):
        recase(lower, "de", [lower], out)
    with pytest.raises(InputError, match="expected two columns"):
        recase(lower, "de", [examples], out, ("de", "de"))
    assert not out.exists()
