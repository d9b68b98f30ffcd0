"""Running text: documents, their sentences, their language."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.corpus.monolingual import Text, is_other_language, read_texts, spoken_sentences
from turia.errors import FormatError

ENGLISH = "When I was eleven, my head coach began to tell me that I should write articles for the local newspaper. "
GERMAN = "Als ich elf war, ermunterte mich mein Trainer dazu, für die örtliche Zeitung kleine Berichte zu schreiben. "
KOREAN = "미국 진출 기업은 과학재단 비교적 얕볼 수 있게 됐다. 국제기구 중국의 비중이 내년부터 했다. 날씨 한 말했다. "


def test_documents_come_in_groups_and_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "talks.tsv"
    path.write_text("a\tone two three\n\nb\tfour\tfive\nb\tsix\nc\t\nb\tseven eight nine ten\n \n", encoding="utf-8")
    texts = [
        Text("a", "one two three"),
        Text("b", "four\tfive"),
        Text("b#3", "six"),
        Text("c", ""),
        Text("b#5", "seven eight nine ten"),
    ]
    assert list(read_texts(path, words=4)) == [texts[:2], texts[2:]]
    assert list(read_texts(path, words=1000)) == [texts]
    path.write_text("\n\n", encoding="utf-8")
    assert list(read_texts(path, words=4)) == []
    path.write_text("a\tone\nno tab\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"talks.tsv:2: expected `id<TAB>text`"):
        list(read_texts(path, words=4))


def test_sentences_are_as_written_without_stage_directions() -> None:
    written = 'Hi. (Laughter) Dr. No --  is it?\u2028"Yes," (or so) she said. (Music) And\tso on'
    assert spoken_sentences(written, "en") == ["Hi.", "Dr. No -- is it?", '"Yes," (or so) she said.', "And so on"]
    assert spoken_sentences("(Applause)", "en") == spoken_sentences("", "en") == []


def test_texts_in_another_language_are_told() -> None:
    assert not is_other_language(ENGLISH * 3, "en")
    assert not is_other_language(GERMAN * 3, "de")
    assert is_other_language(GERMAN * 3, "en")
    assert is_other_language(KOREAN * 3 + "sorry to be able to define", "en")
    # A few words are not looked at, nor what should be in a language that nobody knows.
    assert not is_other_language(GERMAN[:40], "en")
    assert not is_other_language(GERMAN * 3, "xx")
    # A quotation in another language at either end does not matter.
    assert not is_other_language(KOREAN + ENGLISH * 60 + KOREAN, "en")
