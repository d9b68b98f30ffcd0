"""Between units and plain text.

Latency counts units as they are. Quality is measured on plain text, so Moses tokens are joined back first.
"""

from __future__ import annotations

from collections.abc import Sequence

from turia.evaluation.options import Unit


def plain_lines(sentences: Sequence[Sequence[str]], unit: Unit, language: str) -> list[str]:
    """Each sentence's units as plain text."""
    if unit is Unit.WORD:
        return [" ".join(words) for words in sentences]
    # Here and below, not above: most scores are of plain words, and need not wait for its tables of characters.
    from sacremoses import MosesDetokenizer

    detokenizer = MosesDetokenizer(language)
    return [str(detokenizer.detokenize(list(tokens))) for tokens in sentences]


def unit_counts(lines: Sequence[str], unit: Unit, language: str) -> list[int]:
    """How many units each line of text has; whether a line is Moses-tokenised already makes no difference."""
    if unit is Unit.WORD:
        return [len(line.split()) for line in lines]
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(language)
    plain = plain_lines([line.split() for line in lines], unit, language)
    return [len(tokenizer.tokenize(line)) for line in plain]
