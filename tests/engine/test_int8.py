"""benchmarks/int8.py: what it calls too much of a loss."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from benchmarks import int8
from turia.formats.documents import Document
from turia.runtime.translator import Translator

REFERENCE = ["one two three four five six", "seven eight nine ten eleven twelve", "more of the same words again here"]
WIDE = ["one two three four", *REFERENCE[1:]]


@pytest.mark.parametrize(
    ("narrow", "code"),
    [
        (WIDE, 0),
        # One sentence worse, another better: chance could well make a larger difference of them.
        ([REFERENCE[0], "seven eight nine", REFERENCE[2]], 1),
    ],
)
def test_a_loss_is_too_much_whatever_chance_explains(
    narrow: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    translations: Iterator[list[str]] = iter([WIDE, narrow])

    def load(precision: str, streams: int) -> SimpleNamespace:
        return SimpleNamespace(config=SimpleNamespace(precision=precision))

    monkeypatch.setattr(Translator, "load", load)
    monkeypatch.setattr(int8, "dev_documents", lambda *_: [Document("d", REFERENCE, REFERENCE)])
    monkeypatch.setattr(int8, "translate", lambda *_: next(translations))
    monkeypatch.setattr(int8, "SAMPLES", 50)
    assert int8.main(["float32", "int8", "--dev", "any", "--k", "4"]) == code
    assert "(p " in capsys.readouterr().out
