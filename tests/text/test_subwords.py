"""Subwords: words that know no neighbours, ends that are known, text that never turns into symbols."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2 as spm

from tests.text.pieces import encode_words
from turia.errors import ConfigError, ModelError
from turia.text.normalise import clean, clean_word
from turia.text.subwords import Subwords, WordJoiner, train_subwords
from turia.text.symbols import CONTROL, PAD, UNK, UNK_ID, WORD_END

TEXT = (
    'the house is big and the car is small "yes" she said the weather is fine, we are going home. das Haus ist '
    "groß und das Auto ist klein <SEP> Häuser Hausaufgaben carhouse 1999 2000 20 % of it isn't ours"
)
COUNTS = {word: 3 + len(word) for word in clean(TEXT)}


ModelProto: Any = spm.ModelProto  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return train_subwords(COUNTS, 400)


# Clean words of any alphabet, and those that look like symbols or like nothing.
WORDS = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=12),
        st.sampled_from([*COUNTS, *CONTROL, PAD, UNK, "<0x41>", "▁", "日本", '"', "a_b", "\ufffd"]),
    )
    .map(clean_word)
    .filter(bool)
)


def test_symbols_are_where_symbols_py_says(subwords: Subwords) -> None:
    assert subwords.pieces[:7] == ["<pad>", "<unk>", "<DOC>", "<CONT>", "<SEP>", "<BRK>", "<END>"]
    assert subwords.is_control.nonzero()[0].tolist() == list(range(7))


def test_training_gives_the_same_bytes(subwords: Subwords) -> None:
    backwards = dict(reversed(COUNTS.items()))
    assert hashlib.sha256(train_subwords(backwards, 400).model).digest() == hashlib.sha256(subwords.model).digest()


@given(words=WORDS)
def test_any_text_comes_back(subwords: Subwords, words: list[str]) -> None:
    ids, word_of_piece = encode_words(subwords, words)
    assert subwords.decode_words(ids) == words
    assert len(ids) == len(word_of_piece)
    assert not subwords.is_control[ids].any()
    assert UNK_ID not in ids


@given(words=WORDS)
def test_a_word_ends_with_its_last_piece_and_begins_with_text(subwords: Subwords, words: list[str]) -> None:
    for word in words:
        ids = list(subwords.encode_word(word))
        assert subwords.ends_word[ids].tolist() == [False] * (len(ids) - 1) + [True]
        assert not subwords.starts_empty_word[ids[0]]


@given(before=WORDS, words=WORDS)
def test_pieces_do_not_depend_on_neighbours(subwords: Subwords, before: list[str], words: list[str]) -> None:
    together, word_of_piece = encode_words(subwords, before + words)
    first, of_first = encode_words(subwords, before)
    second, of_second = encode_words(subwords, words)
    assert together == first + second
    assert word_of_piece == of_first + [len(before) + word for word in of_second]


def test_a_frequent_word_is_few_pieces(subwords: Subwords) -> None:
    assert [subwords.pieces[i] for i in subwords.encode_word("house")] == ["house▁"]
    assert [subwords.pieces[i] for i in subwords.encode_word("日")] == ["<0xE6>", "<0x97>", "<0xA5>", "▁"]


@pytest.mark.parametrize("symbol", [*CONTROL, PAD, UNK, "<0x41>"])
def test_a_literal_symbol_stays_text(subwords: Subwords, symbol: str) -> None:
    ids = list(subwords.encode_word(symbol))
    assert len(ids) > 1
    assert not subwords.is_control[ids].any()
    assert subwords.decode_words(ids) == [symbol]


def test_only_literal_symbols_to_learn_from_is_refused() -> None:
    with pytest.raises(ConfigError, match="no words"):
        train_subwords({"<SEP>": 5}, 400)


def test_a_small_corpus_gets_a_small_vocabulary() -> None:
    assert len(train_subwords({"ab": 3}, 8000)) < 300


def test_a_vocabulary_without_room_for_letters_is_refused() -> None:
    with pytest.raises(ConfigError, match="vocabulary is 20"):
        train_subwords(COUNTS, 20)


def test_digits_are_pieces_of_their_own() -> None:
    numbers = {f"{year}": 50 for year in range(1950, 2030)} | {
        "160.000": 40,
        "3,5%": 40,
        "10:30": 40,
        "2x": 9,
        "F16": 9,
    }
    joined, split = (train_subwords(COUNTS | numbers, 420, split_digits=value) for value in (False, True))

    def with_digits(subwords: Subwords) -> set[str]:
        text = (piece.removesuffix(WORD_END) for piece in subwords.pieces if not piece.startswith("<0x"))
        return {piece for piece in text if any(letter.isdigit() for letter in piece)}

    assert any(len(piece) > 1 for piece in with_digits(joined))
    assert with_digits(split) == set("0123456789")
    for word in (*numbers, "1987654321", "7"):
        pieces = [split.pieces[piece].removesuffix(WORD_END) for piece in split.encode_word(word)]
        assert [piece for piece in pieces if piece.isdigit()] == [letter for letter in word if letter.isdigit()]
        assert split.decode_words(split.encode_word(word)) == [word]
        assert split.ends_word[split.encode_word(word)[-1]]


def test_joiner_gives_each_word_when_it_is_complete(subwords: Subwords) -> None:
    joiner = WordJoiner(subwords)
    words = ["the", "日本", "carhouse"]
    for word in words:
        *body, last = subwords.encode_word(word)
        assert [joiner.push(piece) for piece in body] == [None] * len(body)
        assert joiner.push(last) == word
    assert joiner.flush() is None


def test_joiner_flushes_what_was_begun_and_starts_anew(subwords: Subwords) -> None:
    joiner = WordJoiner(subwords)
    first, *_ = subwords.encode_word("日")
    assert joiner.push(first) is None
    assert joiner.flush() == "\ufffd"
    assert joiner.flush() is None


def test_an_empty_word_is_no_word(subwords: Subwords) -> None:
    (empty,) = subwords.starts_empty_word.nonzero()[0]
    assert subwords.pieces[empty] == WORD_END
    assert WordJoiner(subwords).push(int(empty)) is None


def test_bytes_cannot_spell_white_space_or_a_word_end(subwords: Subwords) -> None:
    """A model may write any bytes: U+2581, a newline, half a character."""
    spelt = [subwords.pieces.index(f"<0x{byte:02X}>") for byte in "a▁\n b".encode()]
    joiner = WordJoiner(subwords)
    assert [joiner.push(piece) for piece in spelt] == [None] * len(spelt)
    assert joiner.flush() == "a_b"


def test_saved_and_loaded(subwords: Subwords, tmp_path: Path) -> None:
    subwords.save(tmp_path / "subwords.model")
    loaded = Subwords.load(tmp_path / "subwords.model")
    assert loaded.model == subwords.model
    assert encode_words(loaded, ["Haus", "日"]) == encode_words(subwords, ["Haus", "日"])


def test_bad_files_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"gone\.model: cannot read"):
        Subwords.load(tmp_path / "gone.model")
    (tmp_path / "junk.model").write_bytes(b"junk")
    with pytest.raises(ModelError, match=r"junk\.model: not a SentencePiece model"):
        Subwords.load(tmp_path / "junk.model")


def test_a_model_with_other_symbols_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT + "\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text"),
        model_prefix=str(tmp_path / "foreign"),
        vocab_size=60,
        model_type="bpe",
        minloglevel=2,
    )
    with pytest.raises(ModelError, match=r"foreign\.model: expected the pieces <pad> <unk> <DOC>"):
        Subwords.load(tmp_path / "foreign.model")


def test_words_are_remembered_but_never_too_many(subwords: Subwords, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever says a million different words fills no memory, and does not keep others from being remembered."""
    monkeypatch.setattr("turia.text.subwords._CACHED_WORDS", 4)
    remembering = Subwords(subwords.model)
    for number in range(40):
        word = f"haus{number}"
        assert remembering.encode_word(word) is remembering.encode_word(word)
        assert len(remembering._cache) <= 4
    long = "haus" * 10
    assert remembering.encode_word(long) == subwords.encode_word(long)
    assert long not in remembering._cache


def changed(subwords: Subwords, change: Callable[[Any], object]) -> Subwords:
    """The same pieces, in a model that came from elsewhere."""
    proto = ModelProto.FromString(subwords.model)
    change(proto)
    return Subwords(proto.SerializeToString())


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("haus", True),
        ("Łódź", True),
        ("µm", True),
        ("25º", True),
        ("20Ω", True),
        ("€", True),
        ("\N{CYRILLIC SMALL LETTER EM}\N{CYRILLIC SMALL LETTER O}", False),
        ("\N{GREEK SMALL LETTER ALPHA}", False),
        ("日本", False),
    ],
)
def test_a_word_may_be_known_by_a_letter_of_a_known_script_or_by_a_piece(
    subwords: Subwords, word: str, known: bool
) -> None:
    assert subwords.may_know(word) is known


def test_letters_that_the_model_replaces_are_known_as_what_they_become(subwords: Subwords) -> None:
    wide = "\N{FULLWIDTH LATIN SMALL LETTER I}\N{FULLWIDTH LATIN SMALL LETTER S}"
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(COUNTS), model_writer=written, vocab_size=60, normalization_rule_name="nmt_nfkc"
    )
    rule = ModelProto.FromString(written.getvalue()).normalizer_spec
    normalises = changed(subwords, lambda proto: proto.normalizer_spec.MergeFrom(rule))
    assert normalises.encode_word(wide) == subwords.encode_word("is")
    assert (normalises.may_know(wide), subwords.may_know(wide)) == (True, False)


def test_pieces_of_the_other_language_alone_make_no_script_known(subwords: Subwords) -> None:
    """A vocabulary for two languages has pieces that one side never gets."""
    cyrillic = "\N{CYRILLIC SMALL LETTER EM}\N{CYRILLIC SMALL LETTER O}"

    def add(proto: Any, kind: int) -> None:
        proto.pieces.add(piece=cyrillic + WORD_END, score=-1.0, type=kind)

    assert changed(subwords, lambda proto: add(proto, ModelProto.SentencePiece.NORMAL)).may_know(cyrillic)
    assert not changed(subwords, lambda proto: add(proto, ModelProto.SentencePiece.UNUSED)).may_know(cyrillic)
