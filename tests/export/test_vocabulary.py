"""Pieces and languages of a checkpoint are those of its own tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sentencepiece

from tests.export.m2m_checkpoint import NLLB, write_m2m
from tests.export.marian_checkpoint import write_checkpoint
from turia.errors import InputError, ModelError
from turia.export.families import FIRST, read_checkpoint
from turia.export.languages import M2M_100
from turia.export.random_model import made_up_words
from turia.export.vocabulary import find_languages, read_vocabulary

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

    assert "no such file; expected the SentencePiece model" in broken("sentencepiece.bpe.model", None)
    assert "not a SentencePiece model" in broken("sentencepiece.bpe.model", "nothing of the kind")
    assert "no such file; expected an NLLB model, whose languages it lists" in broken("tokenizer.json", None)
    assert "no languages among its added_tokens" in broken("tokenizer.json", "{}")
    assert "each with content and id" in broken("tokenizer.json", '{"added_tokens": [3]}')
    assert "expected the ids 0 to" in broken("vocab.json", '{"<unk>": 0}', "opus-mt-de-mul")
    assert "expected the id of each piece" in broken("vocab.json", '{"<unk>": "0"}', "opus-mt-de-mul")
    assert "no <unk>" in broken("vocab.json", '{"a": 0}', "m2m")
