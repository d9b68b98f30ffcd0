"""Sentence pairs as words: which are taken, and how their words look."""

from __future__ import annotations

from pathlib import Path

from turia.config import Corpus
from turia.corpus.sentence_pairs import SentencePair, sentence_pairs

LINES = (
    "1\tGuten Morgen, Welt!\tGood morning, world!\n"
    "1\tJa.\tYes.\n"
    "2\tWie geht es?\tHow are you?\n"
    "2\tEs geht – gut, danke.\tI am fine, thanks.\n"
)


def corpus(folder: Path, name: str = "corpus.tsv") -> Corpus:
    (folder / name).write_text(LINES, encoding="utf-8")
    return Corpus(path=folder / name)


def test_source_words_are_as_heard_and_target_words_as_written(tmp_path: Path) -> None:
    pairs = sentence_pairs([corpus(tmp_path)], ("de", "en"), 10, max_words=5, least_words=2)
    assert pairs == [
        SentencePair(("guten", "morgen", "welt"), ("Good", "morning,", "world!")),
        SentencePair(("wie", "geht", "es"), ("How", "are", "you?")),
        SentencePair(("es", "geht", "gut", "danke"), ("I", "am", "fine,", "thanks.")),
    ]


def test_a_model_that_reads_text_as_it_is_gets_it_so(tmp_path: Path) -> None:
    (first, *_) = sentence_pairs([corpus(tmp_path)], ("de", "en"), 10, max_words=3, normalises=False)
    assert first.source == ("Guten", "Morgen,", "Welt!")


def test_corpora_give_as_many_pairs_each_and_longer_ones_are_left_out(tmp_path: Path) -> None:
    both = [corpus(tmp_path), corpus(tmp_path, "other.tsv")]
    pairs = sentence_pairs(both, ("en", "de"), 4, max_words=3)
    assert [pair.target for pair in pairs] == [("Guten", "Morgen,", "Welt!"), ("Ja.",)] * 2
