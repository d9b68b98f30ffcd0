"""The outputs that the paper's authors published, read from beside the checkout; nothing of them is in it."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from turia.evaluation.inputs import StreamLog, read_lines, stream_from_actions

FOLDER = Path(__file__).parents[2].parent / "shared" / "conformance"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8")) if FOLDER.is_dir() else {}

_ABSENT = [pytest.param("", marks=pytest.mark.skip(reason="needs ../shared/conformance, which is not here"))]
CASES: list[Any] = [name for name in EXPECTED if name != "small"] or _ABSENT
DEV_CASES: list[Any] = [name for name in EXPECTED if name.startswith("dev2010/")] or _ABSENT
SMALL: list[Any] = EXPECTED.get("small") or _ABSENT


@lru_cache(maxsize=4)
def load(name: str, resegmented: bool) -> StreamLog:
    """A case, with mwerSegmenter's cuts or without."""
    case = FOLDER / name
    return stream_from_actions(
        case.parent / "source.de",
        case.parent / "reference.en",
        case / "hypothesis.en",
        case / "actions",
        case / "resegmented.en" if resegmented else None,
    )


def mwersegmenter_lines(name: str) -> list[str]:
    """mwerSegmenter's own output."""
    return read_lines(FOLDER / name / "resegmented.en")
