"""Segmenter samples: what was said before, the word, what follows, and whether a sentence ends."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from turia.config import Corpus
from turia.corpus.boundaries import (
    DOCUMENTS_PER_STREAM,
    LabelledStream,
    Samples,
    hide_future,
    monolingual_texts,
    parallel_texts,
    word_stream,
)
from turia.text.vocabulary import BOUNDARY, UNHEARD, Vocabulary

PAST, FUTURE = 4, 2
DOCUMENT = [["a", "b"], ["c"], ["d", "e", "f"]]
VOCABULARY = Vocabulary.learn(dict.fromkeys("abcdef", 1), 6)


def spelled(ids: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> list[str]:
    names = {BOUNDARY: "|", UNHEARD: "?"}
    return ["".join(names.get(value) or VOCABULARY.entries[value] for value in row) for row in ids.tolist()]


def samples_of(documents: list[list[list[str]]]) -> Samples:
    return Samples(word_stream(documents, PAST).encode(VOCABULARY), PAST, FUTURE)


def test_samples_of_a_document() -> None:
    samples = samples_of([DOCUMENT])
    # Boundaries stand in the past, never among the words that follow; the stream is padded on both sides.
    assert spelled(samples.ids(samples.indices)) == [
        "||||abc",
        "|||abcd",
        "|ab|cde",
        "b|c|def",
        "|c|def|",
        "c|def||",
    ]
    assert samples.labels(samples.indices).tolist() == [0, 1, 1, 0, 0, 1]
    assert samples.splits.tolist() == samples.indices[[1, 2, 5]].tolist()


def test_documents_follow_each_other_and_a_new_stream_begins_after_a_few() -> None:
    samples = samples_of([[["a"]]] * DOCUMENTS_PER_STREAM + [[["b"]]])
    rows = spelled(samples.ids(samples.indices))
    assert rows[0] == "||||aaa"
    assert rows[DOCUMENTS_PER_STREAM - 1] == "a|a|a||"
    assert rows[-1] == "||||b||"


sentences = st.lists(st.sampled_from("abcdef"), max_size=5)
documents = st.lists(st.lists(sentences, max_size=4), max_size=2 * DOCUMENTS_PER_STREAM)


@given(documents)
def test_every_word_is_one_sample_and_every_sentence_one_split(texts: list[list[list[str]]]) -> None:
    samples = samples_of(texts)
    rows = spelled(samples.ids(samples.indices))
    assert [row[PAST] for row in rows] == [word for text in texts for sentence in text for word in sentence]
    assert len(samples.splits) == sum(bool(sentence) for text in texts for sentence in text)
    for row, label in zip(rows, samples.labels(samples.indices), strict=True):
        # A boundary among the following words is padding, and so is all that comes after it.
        assert "|" not in row[PAST + 1 :].rstrip("|")
        assert label == 1 or row[PAST + 1] != "|"


def test_a_stream_is_read_back_memory_mapped(tmp_path: Path) -> None:
    stream = word_stream([DOCUMENT], PAST).encode(VOCABULARY)
    stream.save(tmp_path, "train")
    opened = LabelledStream.open(tmp_path, "train")
    assert isinstance(opened.words, np.memmap)
    np.testing.assert_array_equal(opened.words, stream.words)
    np.testing.assert_array_equal(opened.ends, stream.ends)


def test_at_least_the_wanted_share_are_splits() -> None:
    samples = samples_of([[list("abcdefabcdefabcdef")] * 20])
    labels = samples.labels(samples.draw(1000, 0.3, np.random.default_rng(1)))
    assert 0.3 <= labels.mean() < 0.4


def test_rare_words_share_an_id() -> None:
    words = word_stream([[["a", "b", "a", "c"]]], 1)
    assert words.counts() == {"a": 2, "b": 1, "c": 1}
    vocabulary = Vocabulary.learn(words.counts(), 1)
    assert [vocabulary.entries[value] for value in words.encode(vocabulary).words[1:-1]] == [
        "a",
        "~unknown",
        "a",
        "~unknown",
    ]


@given(st.integers(0, 3), st.floats(0, 1), st.integers(0, 1000))
def test_hidden_future_words_are_the_last_ones(future: int, share: float, seed: int) -> None:
    ids = np.full((40, PAST + 1 + future), 9)
    hidden = hide_future(ids, PAST, share, np.random.default_rng(seed))
    assert (hidden[:, : PAST + 1] == 9).all()
    for row in hidden[:, PAST + 1 :].tolist():
        heard = row.count(9)
        assert row == [9] * heard + [UNHEARD] * (future - heard)
    if share == 0:
        assert (hidden == 9).all()
    if share == 1 and future:
        assert (hidden[:, -1] == UNHEARD).all()


def test_a_line_of_a_parallel_corpus_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_text("1\tHerr Präsident! Guten Tag.\tMr President.\n1\tJa.\tYes.\n2\tUnd\tAnd\n", encoding="utf-8")
    assert list(parallel_texts(Corpus(path=path), "de")) == [
        [["herr", "präsident", "guten", "tag"], ["ja"]],
        [["und"]],
    ]
    assert list(parallel_texts(Corpus(path=path), "en")) == [[["mr", "president"], ["yes"]], [["and"]]]


def test_running_text_is_cut_at_its_punctuation(tmp_path: Path) -> None:
    path = tmp_path / "talks.tsv"
    path.write_text("1\tHi. (Laughter) Dr. No -- is it? Yes\n2\t미국 진출 기업은. wr 과학재단\n", encoding="utf-8")
    assert list(monolingual_texts(path, "en")) == [[["hi"], ["dr", "no", "is", "it"], ["yes"]]]


def test_the_dev_set_gives_as_many_splits_as_lines(shared: Path) -> None:
    path = shared / "data/europarl-st/ende.dev.tsv.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = sum(1 for _ in file)
    stream = word_stream(parallel_texts(Corpus(path=path), "en"), PAST)
    assert int(stream.ends.sum()) == lines == 1309
