"""Test sets as streams."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiments.sweep.toys import TSV, corpus, recipe
from turia.errors import FormatError
from turia.experiments.sweep.streams import write_streams
from turia.formats.documents import is_held_out


def test_a_test_set_is_one_stream_of_words_as_written(tmp_path: Path) -> None:
    written = write_streams(corpus(tmp_path), recipe(tmp_path / "out"), "de", "en")
    assert [path.read_text("utf-8") for path in written.sources] == ["Ein Satz.\nNoch – einer.\nDer letzte.\n"]
    assert [path.read_text("utf-8") for path in written.references] == ["A sentence.\nOne more.\nThe last.\n"]
    assert (written.sentences, written.source_words) == (3, 7)


def test_or_a_stream_for_each_document(tmp_path: Path) -> None:
    written = write_streams(corpus(tmp_path), recipe(tmp_path / "out", streams="documents"), "en", "de")
    assert [path.read_text("utf-8") for path in written.sources] == ["A sentence.\nOne more.\n", "The last.\n"]


def test_the_first_sentences_alone(tmp_path: Path) -> None:
    keys = {"streams": "documents", "sentences": 1}
    written = write_streams(corpus(tmp_path), recipe(tmp_path / "out", **keys), "de", "en")
    assert [path.read_text("utf-8") for path in written.sources] == ["Ein Satz.\n"]


def test_of_a_corpus_that_holds_pairs_out_those_are_the_test_set(tmp_path: Path) -> None:
    everyday = corpus(tmp_path, "".join(f"{n}\tSatz {n}.\tSentence {n}.\n" for n in range(60)))
    held_out = replace(everyday, corpus=replace(everyday.corpus, context=False, hold_out=7))
    written = write_streams(held_out, recipe(tmp_path / "out"), "de", "en")
    kept = [n for n in range(60) if is_held_out(f"Sentence {n}.", 7)]
    assert [path.read_text("utf-8") for path in written.sources] == ["".join(f"Satz {n}.\n" for n in kept)]


def test_streams_are_known_by_their_content(tmp_path: Path) -> None:
    def digest(text: str, **keys: object) -> str:
        return write_streams(corpus(tmp_path, text), recipe(tmp_path / "out", **keys), "de", "en").sha256

    assert digest(TSV) == digest(TSV)
    assert digest(TSV) != digest(TSV.replace("Ein", "ein"))
    assert digest(TSV) != digest(TSV, streams="documents")


def test_a_sentence_without_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"set\.tsv: a sentence without source words"):
        write_streams(corpus(tmp_path, "one\t\tNothing.\n"), recipe(tmp_path / "out"), "de", "en")
