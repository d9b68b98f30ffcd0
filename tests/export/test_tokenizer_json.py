"""A SentencePiece model from `tokenizer.json` cuts words as the model cuts them that the file was made from."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any, Literal

import pytest
import sentencepiece
from tokenizers import Tokenizer

from turia.errors import ModelError
from turia.export.random_model import made_up_words
from turia.export.tokenizer_json import piece_ids, sentencepiece_model

WORDS = [*made_up_words()[:80], "Straße", "ﬁn", "x"]


def trained(kind: Literal["bpe", "unigram"]) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(made_up_words()[:500]), "ﬁn Straße"] * 3), model_writer=model,
        model_type=kind, vocab_size=200, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return model.getvalue()


def tokenizer_json(model: bytes) -> dict[str, Any]:
    """As the library transformers converts a SentencePiece model: its pieces, its merges in order, its letters."""
    from sentencepiece import sentencepiece_model_pb2 as spm

    proto = spm.ModelProto()  # type: ignore[attr-defined]
    proto.ParseFromString(model)
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *(piece.piece for piece in proto.pieces[3:])]
    scores = {piece.piece: piece.score for piece in proto.pieces}
    ids = {piece: number for number, piece in enumerate(pieces)}
    if proto.trainer_spec.model_type == proto.trainer_spec.UNIGRAM:
        vocabulary = [[piece, scores.get(piece, 0.0)] for piece in pieces]
        kept: dict[str, Any] = {"type": "Unigram", "unk_id": 3, "vocab": vocabulary}
    else:
        merges = [
            (piece[:cut], piece[cut:])
            for piece in sorted(pieces[4:], key=lambda piece: -scores[piece])
            for cut in range(1, len(piece))
            if piece[:cut] in ids and piece[cut:] in ids
        ]
        kept = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "vocab": ids, "merges": list(map(list, merges))}
    letters = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
    first = {"type": "Precompiled", "precompiled_charsmap": letters}
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": [first]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": kept,
    }


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_words_are_cut_alike(kind: Literal["bpe", "unigram"], tmp_path: Path) -> None:
    model, path = trained(kind), tmp_path / "tokenizer.json"
    path.write_text(json.dumps(tokenizer_json(model)), encoding="utf-8")
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    library = Tokenizer.from_file(str(path))
    ours = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(path).SerializeToString())
    ids = piece_ids(path)
    for word in WORDS:
        pieces = ours.encode(word, out_type=str)
        assert pieces == theirs.encode(word, out_type=str)
        assert [ids.get(piece, 3) for piece in pieces] == library.encode(word).ids
    assert ours.encode("ﬁn", out_type=str) == ours.encode("fin", out_type=str), "letters are normalised"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "pieces of the kind None, expected BPE or Unigram"),
        ({"model": {"type": "WordPiece", "vocab": {}}}, "pieces of the kind 'WordPiece'"),
        ({"model": {"type": "BPE", "vocab": {"a": "x"}}}, "expected a vocabulary of pieces"),
        ({"model": {"type": "BPE", "vocab": {"a": 0}}}, "expected merges, each of two pieces"),
        ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a a"]}}, "expected merges, each of two pieces"),
        ({"model": {"type": "Unigram", "vocab": [["a", "b"]]}}, "a vocabulary of pieces with scores"),
        (
            {
                "model": {"type": "Unigram", "vocab": [["a", 0.0]]},
                "normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"},
            },
            "its table of letters is damaged",
        ),
    ],
)
def test_damaged_files(content: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ModelError, match=said):
        sentencepiece_model(path)
