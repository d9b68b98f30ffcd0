"""Chunks: what is dropped breaks a document, what is repeated does not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.text.pieces import encode_words
from turia.config import Corpus, Filters, Windows
from turia.corpus.chunks import ChunkHead, Cleaner, Encoder, Pair, adjacent_runs, read_head, read_pairs, write_chunk
from turia.corpus.shards import CLOSES, OPENS, WINDOW, Part
from turia.formats.documents import Document
from turia.text.subwords import Subwords, train_subwords

NO_LANGUAGE = Filters(min_words=1, max_words=6, max_ratio=2.0, ratio_from_words=2, language=False)
DOCUMENTS = [
    Document(
        "a",
        ["Guten Tag!", "eins zwei drei vier fünf sechs sieben", "Ja.", "–", "Und/oder nicht?"],
        ["Good day!", "one two", "Yes.", "what", "And/or not?"],
    ),
    Document("b", ["Gr\ufffdße", "eins"], ["Greetings", "one two three"]),
]


def test_cleaning_counts_every_reason_and_keeps_places() -> None:
    dropped: Counter[str] = Counter()
    pairs = list(Cleaner(("de", "en"), NO_LANGUAGE, None).pairs(DOCUMENTS, dropped))
    assert pairs == [
        Pair(0, 0, 5, "guten tag", "Good day!"),
        Pair(0, 2, 5, "ja", "Yes."),
        Pair(0, 4, 5, "und oder nicht", "And/or not?"),
    ]
    assert dropped == {"length": 2, "unreadable": 1, "ratio": 1}


def test_dev_sets_lose_only_empty_sides() -> None:
    dropped: Counter[str] = Counter()
    pairs = list(Cleaner(("de", "en"), None, None).pairs(DOCUMENTS, dropped))
    assert [(pair.document, pair.place) for pair in pairs] == [(0, 0), (0, 1), (0, 2), (0, 4), (1, 0), (1, 1)]
    assert dropped == {"length": 1}


def test_a_chunk_file_round_trips(tmp_path: Path) -> None:
    head = ChunkHead(corpus=1, read=3, kept=2, dropped={"ratio": 1})
    # Characters that end lines for `str.splitlines`, though not for files.
    pairs = [Pair(0, 0, 2, "a b", 'A "b"\x1c.\x85\u2028'), Pair(3, 1, 2, "ß", "日本 …")]
    write_chunk(tmp_path / "chunk", head, pairs)
    assert read_head(tmp_path / "chunk") == head
    assert list(read_pairs(tmp_path / "chunk")) == pairs


def test_adjacent_runs() -> None:
    places = [(0, 0), (0, 1), (0, 3), (1, 4), (1, 5), (2, 0)]
    pairs = [Pair(document, place, 9, "x", "y") for document, place in places]
    assert list(adjacent_runs(pairs)) == [(0, 2), (2, 3), (3, 5), (5, 6)]
    assert list(adjacent_runs([])) == []


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return train_subwords({"ja": 9, "nein": 9, "yes": 9, "no": 9, "xylophon": 1}, 300)


def encode(
    subwords: Subwords,
    pairs: list[Pair],
    repeated: list[bool] | None = None,
    corpus: Corpus = Corpus(),  # noqa: B008
    history: int = 60,
    max_positions: int = 64,
) -> Part:
    encoder = Encoder(subwords, subwords, Windows(history=history), max_positions, corpus)
    return encoder.part(pairs, np.array(repeated or [False] * len(pairs), dtype=bool))


def document(*places: int, length: int) -> list[Pair]:
    return [Pair(0, place, length, "ja nein", "yes no") for place in places]


def test_a_gap_parts_windows_and_is_no_beginning(subwords: Subwords) -> None:
    """Pair 2 of five was dropped: its neighbours share no window, and pair 3 does not open the document."""
    part = encode(subwords, document(0, 1, 3, 4, length=5))
    assert part.samples.tolist() == [
        [0, 1, OPENS],
        [1, 1, 0],
        [2, 1, 0],
        [3, 1, CLOSES],
        [0, 2, WINDOW | OPENS],
        [2, 2, WINDOW | CLOSES],
    ]


def test_a_lost_end_is_no_end(subwords: Subwords) -> None:
    part = encode(subwords, document(1, 2, length=4))
    assert part.samples.tolist() == [[0, 1, 0], [1, 1, 0], [0, 2, WINDOW]]


def test_history_words_limit_windows(subwords: Subwords) -> None:
    part = encode(subwords, document(0, 1, 2, length=3), history=2)
    assert [row for row in part.samples.tolist() if row[2] & WINDOW] == [
        [0, 2, WINDOW | OPENS],
        [2, 1, WINDOW | CLOSES],
    ]


def test_sentences_hold_words_and_pieces(subwords: Subwords) -> None:
    part = encode(subwords, document(0, 1, length=2))
    ids, word_of_piece = encode_words(subwords, ["ja", "nein"])
    assert part.source.ids.tolist() == ids * 2
    assert part.source.pieces.tolist() == [word_of_piece.count(0), word_of_piece.count(1)] * 2
    assert part.source.words.tolist() == [2, 2]
    assert part.source.lengths().tolist() == [len(ids)] * 2


def test_a_repeat_stays_in_windows_but_is_not_drawn_alone(subwords: Subwords) -> None:
    part = encode(subwords, document(0, 1, length=2), repeated=[True, False])
    assert part.samples.tolist() == [[1, 1, CLOSES], [0, 2, WINDOW | OPENS | CLOSES]]


@pytest.mark.parametrize(("corpus", "history"), [(Corpus(context=False), 60), (Corpus(), 0)])
def test_a_repeat_goes_where_no_windows_are_cut(subwords: Subwords, corpus: Corpus, history: int) -> None:
    alone = [Pair(n, 0, 1, "ja", "yes") for n in range(2)]
    part = encode(subwords, alone, repeated=[False, True], corpus=corpus, history=history)
    assert part.samples.tolist() == [[0, 1, OPENS | CLOSES]]
    assert part.source.words.tolist() == [1]


def test_a_corpus_may_count_twice_in_an_epoch(subwords: Subwords) -> None:
    once, twice = (encode(subwords, document(0, 1, length=2), corpus=Corpus(repeat=n)) for n in (1, 2))
    assert twice.samples.tolist() == once.samples.tolist() * 2
    assert twice.source.words.tolist() == once.source.words.tolist()


def test_a_pair_beyond_the_models_positions_is_a_gap(subwords: Subwords) -> None:
    pairs = document(0, 1, 2, length=3)
    pairs[1] = pairs[1]._replace(target=" ".join(["no"] * 80))
    part = encode(subwords, pairs)
    assert len(part.source.words) == 2
    assert part.samples.tolist() == [
        [0, 1, OPENS],
        [1, 1, CLOSES],
        [0, 1, WINDOW | OPENS],
        [1, 1, WINDOW | CLOSES],
    ]
