"""Pieces and languages of a checkpoint are those of its own tokenizer."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pytest
import sentencepiece

from tests.export.m2m_checkpoint import NLLB, write_m2m
from tests.export.marian_checkpoint import write_checkpoint
from tests.export.test_tokenizer_json import tokenizer_json
from turia.errors import InputError, ModelError
from turia.export.families import FIRST, read_checkpoint
from turia.export.languages import M2M_100
from turia.export.random_model import made_up_words
from turia.export.vocabulary import find_languages, read_vocabulary
from turia.text.symbols import UNK_ID

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("vocabularies")
    write_m2m(place / "m2m", "m2m", steps=0)
    write_m2m(place / "nllb", "nllb", steps=0)
    write_checkpoint(place / "opus-mt-de-mul", ("deu", "eng", "fra"), steps=0)
    return place


def test_an_m2m_sentence_is_laid_out_as_its_tokenizer_does(place: Path) -> None:
    from transformers import M2M100Tokenizer

    tokenizer = M2M100Tokenizer(
        str(place / "m2m" / "vocab.json"), str(place / "m2m" / "sentencepiece.bpe.model"), src_lang="de", tgt_lang="en"
    )
    vocabulary = read_vocabulary(read_checkpoint(place / "m2m"))
    [subwords] = vocabulary.subwords()
    languages = find_languages(vocabulary, "deu_Latn", "en")
    assert (languages.source, languages.target) == ("de", "en")
    words = made_up_words()[:40]
    pieces = [piece for word in words for piece in subwords.encode_word(word)]
    end = vocabulary.checkpoint.special("eos_token_id")
    ours = [languages.source_piece, *pieces, FIRST + end]
    assert [None if piece is None else piece - FIRST for piece in ours] == tokenizer(" ".join(words))["input_ids"]
    assert languages.target_piece == FIRST + tokenizer.get_lang_id("en")
    assert vocabulary.languages == {code: tokenizer.get_lang_id(code) for code in M2M_100}
    assert subwords.space_first
    assert subwords.decode_words(pieces) == words


def test_an_nllb_vocabulary_is_the_sentencepiece_model_s_moved_by_one(place: Path) -> None:
    vocabulary = read_vocabulary(read_checkpoint(place / "nllb"))
    [subwords] = vocabulary.subwords()
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(place / "nllb" / "sentencepiece.bpe.model"))
    for word in made_up_words()[:60]:
        assert list(subwords.encode_word(word)) == [FIRST + 1 + piece for piece in theirs.encode(word)]
    assert list(vocabulary.languages) == list(NLLB)
    languages = find_languages(vocabulary, "de", "zh")
    assert (languages.target, languages.target_piece) == ("zh-Hans", FIRST + vocabulary.languages["zho_Hans"])
    assert all(subwords.is_control[FIRST + piece] for piece in vocabulary.languages.values())
    assert subwords.is_control[FIRST], "<s>"


@pytest.mark.parametrize("languages_among_pieces", [False, True], ids=["new", "old"])
def test_what_transformers_saves_of_nllb_has_the_same_pieces(
    languages_among_pieces: bool, place: Path, tmp_path: Path
) -> None:
    """Its release 5 saves tokenizer.json alone; files that were converted earlier have languages among their pieces."""
    from transformers import NllbTokenizer

    folder = shutil.copytree(place / "nllb", tmp_path / "nllb")
    told = tokenizer_json((folder / "sentencepiece.bpe.model").read_bytes())
    pieces, letters = told["model"]["vocab"], told["normalizer"]["normalizers"][0]["precompiled_charsmap"]
    if languages_among_pieces:
        pieces |= {code: len(pieces) + number for number, code in enumerate(NLLB)}
    tokenizer = NllbTokenizer(
        vocab=pieces, merges=[tuple(pair) for pair in told["model"]["merges"]], extra_special_tokens=list(NLLB),
        mask_token="</s>", _spm_precompiled_charsmap=base64.b64decode(letters), src_lang="deu_Latn",
    )  # fmt: skip
    for name in ("sentencepiece.bpe.model", "tokenizer.json"):
        (folder / name).unlink()
    tokenizer.save_pretrained(folder)
    assert not (folder / "sentencepiece.bpe.model").exists()
    before, after = (read_vocabulary(read_checkpoint(one)) for one in (place / "nllb", folder))
    assert after.languages == {code: tokenizer.convert_tokens_to_ids(code) for code in NLLB}
    assert (after.languages, after.unknown) == (before.languages, before.unknown)
    [one], [other] = before.subwords(), after.subwords()
    words = [*made_up_words()[:60], "ﬁn", "deu_Latn"]
    for word in words:
        assert list(other.encode_word(word)) == list(one.encode_word(word))
    said = [piece - FIRST for word in words[:-1] for piece in other.encode_word(word)]
    theirs = tokenizer(" ".join(words[:-1]))["input_ids"]
    unknown = UNK_ID - FIRST
    assert [after.languages["deu_Latn"], *(after.unknown if piece == unknown else piece for piece in said), 2] == theirs


def test_a_tokenizer_of_marian_leaves_punctuation_as_it_is(place: Path) -> None:
    """The library transformers has the punctuation normaliser of Moses beside it, but does not call it: nor do we."""
    from transformers import MarianTokenizer

    folder = place / "opus-mt-de-mul"
    tokenizer = MarianTokenizer.from_pretrained(folder, source_lang="de", target_lang="en")
    source, _ = read_vocabulary(read_checkpoint(folder)).subwords()
    for word in ("„ja“", "it’s", "10–20", "«so»", "…", *made_up_words()[:5]):
        theirs = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(word))
        ours = [tokenizer.unk_token_id if piece == UNK_ID else piece - FIRST for piece in source.encode_word(word)]
        assert ours == theirs


def test_a_marian_model_with_many_targets_is_told_the_target_before_the_source(place: Path) -> None:
    vocabulary = read_vocabulary(read_checkpoint(place / "opus-mt-de-mul"))
    ids = json.loads((place / "opus-mt-de-mul" / "vocab.json").read_text(encoding="utf-8"))
    for asked in ("en", "eng", "eng_Latn"):
        languages = find_languages(vocabulary, None, asked)
        assert (languages.source, languages.target) == ("de", "en")
        assert (languages.source_piece, languages.target_piece) == (FIRST + ids[">>eng<<"], None)
    with pytest.raises(
        InputError, match=r"not say to which language; give --target, such as --target en \(deu, eng, fra"
    ):
        find_languages(vocabulary, None, None)
    with pytest.raises(InputError, match="no language 'es'; it has deu, eng, fra"):
        find_languages(vocabulary, None, "es")
    with pytest.raises(InputError, match="language 'xx': expected the code of one language"):
        find_languages(vocabulary, "xx", "en")


def test_damaged_vocabularies(place: Path, tmp_path: Path) -> None:
    def broken(name: str, content: str | None, of: str = "nllb") -> str:
        import shutil

        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(place / of, copy)
        if content is None:
            (copy / name).unlink()
        else:
            (copy / name).write_text(content, encoding="utf-8")
        with pytest.raises(ModelError) as refused:
            read_vocabulary(read_checkpoint(copy)).subwords()
        return str(refused.value)

    assert "no such file; expected the SentencePiece model" in broken("sentencepiece.bpe.model", None, "m2m")
    assert "tokenizer.json: pieces of the kind None, expected BPE" in broken("sentencepiece.bpe.model", None)
    assert "not a SentencePiece model" in broken("sentencepiece.bpe.model", "nothing of the kind")
    assert "no such file; expected a model that lists its languages" in broken("tokenizer.json", None)
    assert "no languages among its added_tokens" in broken("tokenizer.json", "{}")
    assert "each with content and id" in broken("tokenizer.json", '{"added_tokens": [3]}')
    assert "expected the ids 0 to" in broken("vocab.json", '{"<unk>": 0}', "opus-mt-de-mul")
    assert "expected the id of each piece" in broken("vocab.json", '{"<unk>": "0"}', "opus-mt-de-mul")
    assert "no <unk>" in broken("vocab.json", '{"a": 0}', "m2m")
