"""Recipes: frozen dataclasses filled from TOML; a file for each kind of recipe, or for the tables that several share.

One recipe is one experiment: `turia prepare` and `turia train` read the same file, and a run folder keeps a copy of
what it was trained with. The range of one value is in its type (`Natural`, `Share`, ...); what several values must
keep together is in `__post_init__`. How a file becomes a recipe is in `turia.schema`.
"""

from turia.config.corpus import Corpus, Data, Filters, SubwordSettings, Windows
from turia.config.load import COMMANDS, load_recipe
from turia.config.model import (
    MOST_HYPOTHESES,
    OFFLINE_K,
    Anchor,
    Conventions,
    Encoder,
    ModelSettings,
    Positions,
    Preset,
    Search,
)
from turia.config.policy import ActHeads, ChunkHeads, HeadTraining, PolicyRecipe
from turia.config.segmenter import SegmenterData, SegmenterModel, SegmenterRecipe, SegmenterTraining
from turia.config.sweep import Published, SweepRecipe, SweepTest, file_name
from turia.config.training import Recipe, Training, Validation

__all__ = [
    "COMMANDS",
    "MOST_HYPOTHESES",
    "OFFLINE_K",
    "ActHeads",
    "Anchor",
    "ChunkHeads",
    "Conventions",
    "Corpus",
    "Data",
    "Encoder",
    "Filters",
    "HeadTraining",
    "ModelSettings",
    "PolicyRecipe",
    "Positions",
    "Preset",
    "Published",
    "Recipe",
    "Search",
    "SegmenterData",
    "SegmenterModel",
    "SegmenterRecipe",
    "SegmenterTraining",
    "SubwordSettings",
    "SweepRecipe",
    "SweepTest",
    "Training",
    "Validation",
    "Windows",
    "file_name",
    "load_recipe",
]
