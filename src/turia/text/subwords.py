"""Subwords: SentencePiece BPE with white space as suffix, so that a piece shows whether it ends its word.

Rules:
- A word is encoded by itself, `▁` at its end. Its pieces never depend on its neighbours, so a stream encoded
  word by word is what training saw.
- Every encoded word ends in a piece that ends in `▁`, and in no other. A lone `▁` where a word should begin
  is an empty word: encoding never gives it, decoding must mask it (`starts_empty_word`).
- Ids 0..6 are those of `symbols.py` in every model. Control symbols never come from text: a literal `<SEP>`
  is spelt out.
- There is no unknown: what the vocabulary cannot spell is written in UTF-8 bytes (`<0xE6>` ...).
- Words given here have passed `normalise_word` or `clean_word`.

Models that came from elsewhere (`turia import-marian`) have the space at the beginning of a word's first piece
(`space_first`). The end of a word then shows only in what follows it; nothing `ends_word` there.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from turia.errors import ConfigError, ModelError
from turia.text.normalise import clean_word
from turia.text.symbols import CONTROL, PAD, PAD_ID, UNK, UNK_ID, WORD_END

Flags = npt.NDArray[np.bool_]

# The rest is spelt in bytes: a coverage of 1 would spend the vocabulary on letters seen once. ASCII is always
# covered, so that `"` is never rare.
_CHARACTER_COVERAGE = 0.99999
# A stream of ever new or ever longer words must not fill the memory: at the very worst this is some 80 MB. A corpus is
# encoded no more slowly than if all of its words were remembered.
_CACHED_WORDS, _LONGEST_CACHED = 1 << 16, 32
_SPECIAL = (PAD, UNK, *CONTROL)
_LITERAL_SYMBOL = re.compile("|".join((*_SPECIAL, "<0x[0-9A-F]{2}>")))


class Subwords:
    """A trained SentencePiece model."""

    def __init__(self, model: bytes, name: str = "subword model") -> None:
        import sentencepiece  # here, so that the engine's core loads without it

        self.model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            self.pieces: list[str] = [self._processor.id_to_piece(i) for i in range(len(self._processor))]
        except (RuntimeError, UnicodeDecodeError) as error:
            raise ModelError(f"{name}: not a SentencePiece model ({error})") from error
        if tuple(self.pieces[: len(_SPECIAL)]) != _SPECIAL:
            raise ModelError(
                f"{name}: expected the pieces {' '.join(_SPECIAL)} at ids 0..{len(_SPECIAL) - 1}, "
                f"found {' '.join(self.pieces[: len(_SPECIAL)])}; train it with `turia prepare`"
            )
        self.is_control: Flags = np.array(
            [self._processor.is_control(i) or i in (PAD_ID, UNK_ID) for i in range(len(self))]
        )
        """[V] the special symbols: pieces that are no text."""
        self.is_byte: Flags = np.array([self._processor.is_byte(i) for i in range(len(self))])
        """[V] one byte of a character outside the vocabulary."""
        self.ends_word: Flags = np.array([piece.endswith(WORD_END) for piece in self.pieces]) & ~self.is_control
        """[V]"""
        begins = np.array([piece.startswith(WORD_END) for piece in self.pieces]) & ~self.is_control
        self.space_first = bool((begins & np.array([len(piece) > 1 for piece in self.pieces])).any())
        self.starts_word: Flags = begins if self.space_first else np.zeros_like(begins)
        """[V] pieces that begin a word, with the space first."""
        self.starts_empty_word: Flags = np.zeros_like(begins) if self.space_first else begins
        """[V] the lone `▁`: an empty word if it comes where a word should begin."""
        if self.space_first:
            self.ends_word = np.zeros_like(begins)
        elif not self.ends_word.any():
            raise ModelError(f"{name}: no piece ends in {WORD_END}; expected a model with white space as suffix")
        self._cache: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    @classmethod
    def load(cls, path: Path) -> Subwords:
        """The model in a file."""
        try:
            return cls(path.read_bytes(), str(path))
        except OSError as error:
            raise ModelError(f"{path}: cannot read the subword model: {error.strerror}") from error

    def save(self, path: Path) -> None:
        """Writes the model, byte for byte as it was trained."""
        path.write_bytes(self.model)

    def __len__(self) -> int:
        return len(self._processor)

    def encode_word(self, word: str) -> tuple[int, ...]:
        """The pieces of one word; the last one, and no other, ends the word."""
        ids = self._cache.get(word)
        if ids is None:
            assert word.split() == [word], f"not one word: {word!r}"
            assert WORD_END not in word, f"not a clean word: {word!r}"
            ids = tuple(self._processor.encode(word))
            if len(word) <= _LONGEST_CACHED:
                if len(self._cache) >= _CACHED_WORDS:
                    # The oldest word goes, so that the cache follows what is being said.
                    self._cache.popitem(last=False)
                self._cache[word] = ids
        return ids

    def may_know(self, word: str) -> bool:
        """Whether the word has no letters, or one in a script of the vocabulary's letters, or pieces beside bytes.

        Such pieces are the digits of `20Ω`, and letters that SentencePiece itself replaces, such as wide ones.
        """
        letters = [letter for letter in word if letter.isalpha()]
        if not letters or any(_script(letter) in self._scripts for letter in letters):
            return True
        return any(
            any(map(str.isalnum, self.pieces[piece]))
            for piece in self.encode_word(word)
            if not self.is_byte[piece] and not self.is_control[piece]
        )

    @cached_property
    def _scripts(self) -> frozenset[str]:
        spelt = {
            letter
            for number, piece in enumerate(self.pieces)
            if not (self.is_byte[number] or self.is_control[number] or self._processor.is_unused(number))
            for letter in piece
        }
        return frozenset(_script(letter) for letter in spelt if letter.isalpha())

    def decode_words(self, ids: Iterable[int]) -> list[str]:
        """The words of `ids`, special symbols skipped; an unfinished last word is given as it stands."""
        joiner = WordJoiner(self)
        words: list[str | None] = []
        for piece in map(int, ids):
            if self.is_control[piece] or self.starts_word[piece]:
                # If the space ends a word, there is an unfinished word here only if a symbol interrupted it.
                words += [joiner.flush()] if self.space_first else []
            if not self.is_control[piece]:
                words.append(joiner.push(piece))
        return [word for word in (*words, joiner.flush()) if word is not None]


def _script(letter: str) -> str:
    """The script of a letter, as its name in Unicode begins: LATIN, CYRILLIC, CJK."""
    return unicodedata.name(letter, "").partition(" ")[0]


class WordJoiner:
    """Words from pieces, one piece at a time."""

    def __init__(self, subwords: Subwords) -> None:
        self._subwords = subwords
        self._bytes = bytearray()

    def push(self, piece: int) -> str | None:
        """The word that `piece` completes, if it does. An empty word is no word."""
        assert not self._subwords.is_control[piece], f"{self._subwords.pieces[piece]} is not text"
        text = self._subwords.pieces[piece]
        if self._subwords.is_byte[piece]:
            self._bytes.append(int(text[3:5], 16))
        else:
            text = text.removeprefix(WORD_END) if self._subwords.space_first else text.removesuffix(WORD_END)
            self._bytes += text.encode()
        return self.flush() if self._subwords.ends_word[piece] else None

    def flush(self) -> str | None:
        """The word begun and not ended, if there is one."""
        # Bytes come from a model: they may be no UTF-8, or spell white space, which must not part a word.
        word = clean_word(self._bytes.decode("utf-8", errors="replace"))
        self._bytes.clear()
        return word or None


def train_subwords(
    counts: Mapping[str, int],
    vocabulary: int,
    threads: int = 1,
    split_digits: bool = False,
    space_first: bool = False,
) -> Subwords:
    """BPE from word counts; the same counts give the same bytes. `split_digits` makes each digit a piece, and
    `space_first` puts white space at the beginning of words.

    Pieces never cross words, so counts hold all that BPE looks at, in a fraction of the corpus's memory.
    """
    # The trainer cuts literal symbols out of its input, and dies over letters that occur nowhere else.
    words = sorted(word for word in counts if counts[word] > 0 and not _LITERAL_SYMBOL.search(word))
    if not words:
        raise ConfigError("no words to learn subwords from: are all pairs filtered out?")
    import sentencepiece

    # Left out unless asked for: the model's bytes hold every option that was given.
    extra: dict[str, Any] = {"split_digits": True} if split_digits else {}
    ascii_letters = "".join(sorted({letter for word in words for letter in word if letter.isascii()}))
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(f"{word}\t{counts[word]}" for word in words),
            input_format="tsv",
            model_writer=model,
            model_type="bpe",
            vocab_size=vocabulary,
            hard_vocab_limit=False,
            treat_whitespace_as_suffix=not space_first,
            remove_extra_whitespaces=False,
            normalization_rule_name="identity",
            character_coverage=_CHARACTER_COVERAGE,
            required_chars=ascii_letters,
            byte_fallback=True,
            **extra,
            pad_id=PAD_ID,
            pad_piece=PAD,
            unk_id=UNK_ID,
            unk_piece=UNK,
            bos_id=-1,
            eos_id=-1,
            control_symbols=list(CONTROL),
            max_sentence_length=1 << 20,
            num_threads=threads,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ConfigError(f"subwords.vocabulary is {vocabulary}: cannot learn it ({error})") from error
    return Subwords(model.getvalue())
