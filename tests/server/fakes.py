"""Translators without weights, for servers under test; a sentence ends at a full stop.

They echo, so that a test can tell what must come; or they are `Chaos`, so that whatever differs anywhere is seen.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.engine.fakes import Chaos, Echo, Fake, FreeEcho, SourceSeen, fake_model
from turia.engine.backend import EncodeRequest
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.policy.base import Policy
from turia.runtime.glossary_file import GlossaryFile
from turia.segmenter.online import FreeSegmenter, Segmenter
from turia.segmenter.punctuation import PunctuationSegmenter
from turia.text.glossary import Glossary


class FakeTranslator:
    """Has what a server needs of a Translator."""

    def __init__(self, name: str, backend: Fake) -> None:
        source, _, target = name.rpartition("-")
        free = isinstance(backend, FreeEcho)
        self.model = replace(fake_model(backend, free=free), name=name, languages=(source, target))
        self.glossary_file: GlossaryFile | None = None

    def stream(
        self,
        *,
        policy: Policy | None = None,
        target_lag: str | None = None,
        punctuation: bool,
        segmenter: Segmenter | None = None,
        glossary: Glossary | None = None,
        segmentation: str | None = None,
        first_block: int | None = None,
    ) -> Stream:
        chosen = policy or self.model.policy
        settings = Settings(
            policy=chosen, history=10, target_lag=target_lag, glossary=glossary, first_block=first_block
        )
        ends = FreeSegmenter() if segmentation == "free" else PunctuationSegmenter("de", window=0)
        return Stream(self.model, segmenter or ends, settings)

    def restore(self, state: dict[str, Any], segmenter: Segmenter | None = None) -> Stream:
        ends = FreeSegmenter() if state["segmenter"]["kind"] == "free" else PunctuationSegmenter("de", window=0)
        return Stream.restore(self.model, segmenter or ends, state)


class Held(Echo):
    """Echoes, but does nothing while there is a file of this name."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def encode(self, requests: Sequence[EncodeRequest]) -> list[SourceSeen]:
        while self._file.exists():
            time.sleep(0.01)
        return super().encode(requests)


def fake_translators(hold: Path | None = None, names: Sequence[str] = ("de-en", "en-de")) -> dict[str, FakeTranslator]:
    """Directions that echo; while there is a file `hold`, they do nothing."""
    return {name: FakeTranslator(name, Echo() if hold is None else Held(hold)) for name in names}


def chaotic_translators() -> dict[str, FakeTranslator]:
    """Two directions whose words depend on all that they were ever shown."""
    return {name: FakeTranslator(name, Chaos()) for name in ("de-en", "en-de")}
