"""The pieces of a checkpoint in Hugging Face's layout, and the pieces that name languages.

| files | models | pieces |
|---|---|---|
| `source.spm`, `target.spm`, `vocab.json` | Marian | one vocabulary, a SentencePiece model for each side |
| `sentencepiece.bpe.model`, `vocab.json` | M2M-100 | one SentencePiece model; languages `__de__` after its pieces |
| `sentencepiece.bpe.model`, `tokenizer.json` | NLLB-200 | the same; languages `deu_Latn` |
| `tokenizer.json` | NLLB-200, as newer releases of transformers save it | all of them |

A Marian model with many targets has pieces `>>deu<<`. A model's piece i is our piece 7 + i, after our reserved symbols.
Its own special pieces stay where they are and are never predicted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentencepiece import sentencepiece_model_pb2 as spm

from turia.errors import InputError, ModelError
from turia.export.families import FIRST, Checkpoint
from turia.export.languages import M2M_100, WMT_21, find_language, standard_code
from turia.export.tokenizer_json import TOKENIZER, added_ids, piece_ids, sentencepiece_model
from turia.system.files import read_json
from turia.text.subwords import Subwords
from turia.text.symbols import CONTROL, PAD, UNK

SOURCE_SPM, TARGET_SPM, SHARED_SPM = "source.spm", "target.spm", "sentencepiece.bpe.model"
VOCABULARY, TOKENIZER_CONFIG = "vocab.json", "tokenizer_config.json"
_MODEL = spm.ModelProto  # type: ignore[attr-defined]  # protobuf makes it when it is imported
_PIECE = _MODEL.SentencePiece
_TARGET = re.compile(r">>(\w+)<<")
_LANGUAGE = re.compile(r"(?:__)?([a-z]{3}_[A-Z][a-z]{3}|(?<=__)[a-z]{2,3}(?=__))(?:__)?")


@dataclass(frozen=True)
class CheckpointVocabulary:
    """The pieces of a checkpoint."""

    checkpoint: Checkpoint
    pieces: tuple[str | None, ...]
    """By the model's ids; None where there is none."""
    languages: dict[str, int]
    """The pieces that name languages, by their codes."""
    unknown: int
    files: tuple[Path, ...]
    """The SentencePiece models: one for both sides, or that of the source and that of the target."""

    @property
    def joint(self) -> bool:
        return len(self.files) == 1

    def special(self) -> set[int]:
        """Ids of pieces that are no text."""
        checkpoint = self.checkpoint
        ends = {checkpoint.special(key) for key in ("eos_token_id", "pad_token_id", "decoder_start_token_id")}
        return {*ends, self.unknown, *self.languages.values()}

    def subwords(self) -> list[Subwords]:
        """For each file: its model with this vocabulary's pieces under our ids."""
        return [_renumbered(path, self) for path in self.files]


@dataclass(frozen=True)
class Languages:
    """What a converted model translates."""

    source: str
    target: str
    """Usual short codes."""
    source_piece: int | None = None
    """Our id of the piece that the source begins with."""
    target_piece: int | None = None
    """Our id of the piece that the target begins with."""


def read_vocabulary(checkpoint: Checkpoint) -> CheckpointVocabulary:
    """The pieces of a checkpoint, read from the files that its family has."""
    folder, size = checkpoint.folder, checkpoint.config["vocab_size"]
    if checkpoint.model_type == "marian":
        return _marian(checkpoint, folder, size)
    shared = (folder / SHARED_SPM,)
    if not shared[0].exists() and (folder / TOKENIZER).exists():
        ids = piece_ids(folder / TOKENIZER)
        return _vocabulary(checkpoint, ids, _added_languages(folder, ids), (folder / TOKENIZER,), size)
    if (folder / VOCABULARY).exists():
        ids = _ids(folder / VOCABULARY)
        told = _tokenizer_config(folder)
        codes = WMT_21 if told.get("language_codes") == "wmt21" else M2M_100
        languages = {code: len(ids) + number for number, code in enumerate(codes)}
    else:
        # As in fairseq: its own four special pieces in place of the model's three.
        pieces = [piece.piece for piece in _read_spm(shared[0]).pieces]
        ids = {piece: number for number, piece in enumerate(["<s>", "<pad>", "</s>", UNK, *pieces[3:]])}
        languages = _added_languages(folder, ids)
    return _vocabulary(checkpoint, ids, languages, shared, size)


def find_languages(vocabulary: CheckpointVocabulary, source: str | None, target: str | None) -> Languages:
    """The languages that were asked for; in models of one direction, what the tokenizer or the folder's name says."""
    folder, name = vocabulary.checkpoint.folder, vocabulary.checkpoint.name
    if vocabulary.checkpoint.model_type != "marian":
        if source is None or target is None:
            raise InputError(f"{name}: translates between many languages; say which: --source de --target en")
        codes = [find_language(asked, vocabulary.languages, name) for asked in (source, target)]
        pieces = [FIRST + vocabulary.languages[code] for code in codes]
        return Languages(_standard(codes[0]), _standard(codes[1]), *pieces)
    told = _tokenizer_config(folder)
    named = re.search(r"-([a-z]{2,3})-([a-z]{2,3})$", name)
    source = source or _single(told.get("source_lang")) or (named and _single(named[1]))
    target = target or _single(told.get("target_lang")) or (named and _single(named[2]))
    if not source:
        raise InputError(f"{name}: it does not say which language it reads; give --source, such as --source de")
    if not target:
        some = f" ({', '.join(sorted(vocabulary.languages)[:8])}, ...)" if vocabulary.languages else ""
        raise InputError(f"{name}: it does not say to which language; give --target, such as --target en{some}")
    if not vocabulary.languages:
        return Languages(_standard(source), _standard(target))
    code = find_language(target, vocabulary.languages, name)
    return Languages(_standard(source), _standard(code), FIRST + vocabulary.languages[code])


def _marian(checkpoint: Checkpoint, folder: Path, size: int) -> CheckpointVocabulary:
    ids = _ids(folder / VOCABULARY)
    if sorted(ids.values()) != list(range(size)):
        raise ModelError(f"{folder / VOCABULARY}: expected the ids 0 to {size - 1}, each once")
    languages = {match[1]: number for piece, number in ids.items() if (match := _TARGET.fullmatch(piece))}
    return _vocabulary(checkpoint, ids, languages, (folder / SOURCE_SPM, folder / TARGET_SPM), size)


def _vocabulary(
    checkpoint: Checkpoint, ids: dict[str, int], languages: dict[str, int], files: tuple[Path, ...], size: int
) -> CheckpointVocabulary:
    if UNK not in ids:
        raise ModelError(f"{checkpoint.folder / VOCABULARY}: no {UNK}")
    if max([*ids.values(), *languages.values()]) >= size:
        raise ModelError(f"{checkpoint.folder}: more pieces than the {size} that config.json says")
    pieces: list[str | None] = [None] * size
    for piece, number in ids.items():
        pieces[number] = piece
    return CheckpointVocabulary(checkpoint, tuple(pieces), languages, ids[UNK], files)


def _ids(path: Path) -> dict[str, int]:
    ids = read_json(path, "a checkpoint of Hugging Face", ModelError)
    if not all(type(number) is int and number >= 0 for number in ids.values()):
        raise ModelError(f"{path}: expected the id of each piece")
    return ids


def _added_languages(folder: Path, ids: dict[str, int]) -> dict[str, int]:
    """The languages among the special pieces: `deu_Latn` of an NLLB model, `__de__` of M2M-100."""
    added, names = added_ids(folder / TOKENIZER), {number: piece for piece, number in ids.items()}
    found = {
        match[1]: number
        for piece, number in added.items()
        if (match := _LANGUAGE.fullmatch(piece)) and names.get(number, piece) == piece
    }
    if not found:
        raise ModelError(f"{folder / TOKENIZER}: no languages among its added_tokens; expected codes such as deu_Latn")
    return found


def _tokenizer_config(folder: Path) -> dict[str, Any]:
    path = folder / TOKENIZER_CONFIG
    return read_json(path, "a checkpoint of Hugging Face", ModelError) if path.exists() else {}


def _single(code: object) -> str | None:
    """A code, if it is one of a single language."""
    return code if isinstance(code, str) and standard_code(code) else None


def _standard(code: str) -> str:
    standard = standard_code(code)
    if standard is None:
        raise InputError(f"language {code!r}: expected the code of one language, such as de or deu_Latn")
    return standard


def _read_spm(path: Path) -> Any:
    if path.name == TOKENIZER:
        return sentencepiece_model(path)
    model = _MODEL()
    try:
        model.ParseFromString(path.read_bytes())
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; expected the SentencePiece model of a checkpoint") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
    except Exception as error:  # protobuf's DecodeError, which its releases keep in different places
        raise ModelError(f"{path}: not a SentencePiece model ({error})") from error
    return model


def _renumbered(path: Path, vocabulary: CheckpointVocabulary) -> Subwords:
    """A SentencePiece model with the vocabulary's pieces under our ids; those that it has not are there, and unused."""
    model = _read_spm(path)
    own = {piece.piece: piece for piece in model.pieces}
    del model.pieces[:]
    for symbol in (PAD, UNK, *CONTROL):
        model.pieces.add(piece=symbol, type=_PIECE.UNKNOWN if symbol == UNK else _PIECE.CONTROL)
    special, names = vocabulary.special(), _names(vocabulary.pieces)
    for number, piece in enumerate(vocabulary.pieces):
        kind = own[piece].type if piece in own else _PIECE.UNUSED
        if piece is None or number in special or kind in (_PIECE.CONTROL, _PIECE.UNKNOWN):
            model.pieces.add(piece=names[number], type=_PIECE.CONTROL)
        elif kind in (_PIECE.NORMAL, _PIECE.BYTE):
            model.pieces.add(piece=piece, score=own[piece].score, type=kind)
        else:
            model.pieces.add(piece=piece, type=_PIECE.UNUSED)
    trainer = model.trainer_spec
    trainer.vocab_size, trainer.pad_id, trainer.unk_id, trainer.bos_id, trainer.eos_id = len(model.pieces), 0, 1, -1, -1
    trainer.pad_piece, trainer.unk_piece = PAD, UNK
    return Subwords(model.SerializeToString(), str(path))


def _names(pieces: Sequence[str | None]) -> list[str]:
    """Names that no text has, one for each id."""
    return [f"<model {number} {piece or ''}>" for number, piece in enumerate(pieces)]
