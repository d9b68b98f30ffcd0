"""Translators without weights, for servers under test; a sentence ends at a full stop.

They echo, so that a test can tell what must come; or they are `Chaos`, so that whatever differs anywhere is seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.engine.fakes import Chaos, Echo, Fake, fake_model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.segmenter.punctuation import PunctuationSegmenter


class FakeTranslator:
    """Has what a server needs of a Translator."""

    def __init__(self, name: str, backend: Fake) -> None:
        self.model = replace(fake_model(backend), name=name)

    def stream(self, *, k: int, punctuation: bool) -> Stream:
        return Stream(self.model, PunctuationSegmenter("de", window=0), Settings(k=k, history=10))

    def restore(self, state: dict[str, Any]) -> Stream:
        return Stream.restore(self.model, PunctuationSegmenter("de", window=0), state)


def fake_translators() -> dict[str, FakeTranslator]:
    """Two directions that echo."""
    return {name: FakeTranslator(name, Echo()) for name in ("de-en", "en-de")}


def chaotic_translators() -> dict[str, FakeTranslator]:
    """Two directions whose words depend on all that they were ever shown."""
    return {name: FakeTranslator(name, Chaos()) for name in ("de-en", "en-de")}
