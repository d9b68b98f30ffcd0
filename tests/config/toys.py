"""A recipe with few keys."""

from __future__ import annotations

from typing import Any

from turia.config import Recipe
from turia.schema import from_dict

LANGUAGES = {"source_language": "de", "target_language": "en"}


def recipe(**tables: Any) -> Recipe:
    return from_dict(Recipe, LANGUAGES | tables)
