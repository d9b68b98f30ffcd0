"""A SentencePiece model from `tokenizer.json`, for checkpoints that have no other file of pieces.

The library tokenizers keeps what it needs of a SentencePiece model: the pieces, the order in which they merge (BPE)
or their scores (Unigram), and the table that normalises letters. That is all that a SentencePiece model is, too.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sentencepiece import sentencepiece_model_pb2 as spm

from turia.errors import ModelError
from turia.system.files import read_json

TOKENIZER = "tokenizer.json"
_MODEL = spm.ModelProto  # type: ignore[attr-defined]  # protobuf makes it when it is imported
_PIECE = _MODEL.SentencePiece
_CONTROL = ("<s>", "</s>", "<pad>")
_BYTE = re.compile("<0x[0-9A-F]{2}>")


def added_ids(path: Path) -> dict[str, int]:
    """What was added to the pieces, such as languages; some of it may be among the pieces too."""
    added = read_json(path, "a model that lists its languages", ModelError).get("added_tokens")
    try:
        return {str(token["content"]): int(token["id"]) for token in added or ()}
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: expected added_tokens, each with content and id") from error


def piece_ids(path: Path) -> dict[str, int]:
    """The pieces. Files of older releases have languages among them, newer ones do not."""
    vocabulary = _model(path).get("vocab")
    try:
        if isinstance(vocabulary, dict):
            return {str(piece): int(number) for piece, number in vocabulary.items()}
        return {str(piece): number for number, (piece, _) in enumerate(vocabulary or ())}
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path}: expected a vocabulary of pieces ({error})") from error


def sentencepiece_model(path: Path) -> Any:
    """The ModelProto."""
    told = _model(path)
    ids, added, made = piece_ids(path), added_ids(path), _MODEL()
    scores = _merged(path, told) if told["type"] == "BPE" else _scored(path, told)
    unknown = told.get("unk_token") or "<unk>"
    for piece in sorted(ids, key=ids.__getitem__):
        kind = _PIECE.NORMAL
        if piece == unknown:
            kind = _PIECE.UNKNOWN
        elif piece in added or piece in _CONTROL:
            kind = _PIECE.CONTROL  # nobody says these
        elif _BYTE.fullmatch(piece):
            kind = _PIECE.BYTE
        made.pieces.add(piece=piece, score=scores.get(piece, -float(len(ids))), type=kind)
    trainer = made.trainer_spec
    trainer.model_type = trainer.BPE if told["type"] == "BPE" else trainer.UNIGRAM
    trainer.byte_fallback = any(piece.type == _PIECE.BYTE for piece in made.pieces)
    made.normalizer_spec.name = TOKENIZER
    made.normalizer_spec.precompiled_charsmap = _letters(path)
    return made


def _model(path: Path) -> dict[str, Any]:
    told = read_json(path, "the pieces of a checkpoint", ModelError).get("model")
    kind = told.get("type") if isinstance(told, dict) else None
    if not isinstance(told, dict) or kind not in ("BPE", "Unigram"):
        raise ModelError(f"{path}: pieces of the kind {kind!r}, expected BPE or Unigram, as SentencePiece has them")
    return told


def _merged(path: Path, told: Mapping[str, Any]) -> dict[str, float]:
    """Of each piece, how early it is merged: SentencePiece merges the piece of the highest score first."""
    scores: dict[str, float] = {}
    try:
        for rank, pair in enumerate(told["merges"]):
            left, right = pair.split(" ") if isinstance(pair, str) else pair
            scores.setdefault(left + right, -float(rank))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: expected merges, each of two pieces") from error
    return scores


def _scored(path: Path, told: Mapping[str, Any]) -> dict[str, float]:
    try:
        return {str(piece): float(score) for piece, score in told["vocab"]}
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: expected a vocabulary of pieces with scores") from error


def _letters(path: Path) -> bytes:
    """The table that normalises letters; nothing if there is none."""
    for step in _steps(read_json(path, "the pieces of a checkpoint", ModelError).get("normalizer")):
        if step.get("type") == "Precompiled" and step.get("precompiled_charsmap"):
            try:
                return base64.b64decode(step["precompiled_charsmap"], validate=True)
            except (binascii.Error, TypeError, ValueError) as error:
                raise ModelError(f"{path}: its table of letters is damaged ({error})") from error
    return b""


def _steps(normalizer: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(normalizer, dict):
        yield normalizer
        for step in normalizer.get("normalizers") or ():
            yield from _steps(step)
