"""Between units and plain text.

Latency counts units as they are. Quality is measured on plain text, so Moses tokens are joined back first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, islice

from turia.errors import FormatError
from turia.evaluation.options import Unit


def plain_lines(sentences: Sequence[Sequence[str]], unit: Unit, language: str) -> list[str]:
    """Each sentence's units as plain text."""
    if unit is Unit.WORD:
        return [" ".join(words) for words in sentences]
    # Here and below, not above: most scores are of plain words, and need not wait for its tables of characters.
    from sacremoses import MosesDetokenizer

    detokenizer = MosesDetokenizer(language)
    return [str(detokenizer.detokenize(list(tokens))) for tokens in sentences]


def words_of_tokens(
    lines: Sequence[Sequence[str]], delays: Sequence[float], language: str
) -> tuple[list[str], list[float]]:
    """Moses tokens joined to plain words, each with the delay of its last token: a word is there when all of it is.

    `delays` are of the tokens of all lines.
    """
    from sacremoses import MosesDetokenizer

    detokenizer = MosesDetokenizer(language)
    words: list[str] = []
    word_delays: list[float] = []
    rest = iter(delays)
    for tokens in lines:
        joined = str(detokenizer.detokenize(list(tokens))).split()
        # Joining moves spaces and unescapes; so the characters say which token a word ends with.
        token_ends = list(accumulate(len(str(detokenizer.detokenize([token]))) for token in tokens))
        own = list(islice(rest, len(tokens)))
        word_ends = list(accumulate(map(len, joined)))
        if token_ends[-1:] != word_ends[-1:]:
            raise FormatError(f"Moses tokens that cannot be joined to words: {' '.join(tokens)}")
        words += joined
        word_delays += [own[bisect_left(token_ends, end)] for end in word_ends]
    return words, word_delays


def unit_counts(lines: Sequence[str], unit: Unit, language: str) -> list[int]:
    """How many units each line of text has; whether a line is Moses-tokenised already makes no difference."""
    if unit is Unit.WORD:
        return [len(line.split()) for line in lines]
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(language)
    plain = plain_lines([line.split() for line in lines], unit, language)
    return [len(tokenizer.tokenize(line)) for line in plain]
