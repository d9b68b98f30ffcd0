"""A translator without weights, for servers under test: it echoes, and a sentence ends at a full stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.engine.fakes import Echo, fake_model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.segmenter.punctuation import PunctuationSegmenter


class FakeTranslator:
    """Has what a server needs of a Translator."""

    def __init__(self, name: str) -> None:
        self.model = replace(fake_model(Echo()), name=name)

    def stream(self, *, k: int, punctuation: bool) -> Stream:
        return Stream(self.model, PunctuationSegmenter("de", window=0), Settings(k=k, history=10))

    def restore(self, state: dict[str, Any]) -> Stream:
        return Stream.restore(self.model, PunctuationSegmenter("de", window=0), state)


def fake_translators() -> dict[str, FakeTranslator]:
    """Two directions."""
    return {name: FakeTranslator(name) for name in ("de-en", "en-de")}
