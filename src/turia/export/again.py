"""A model folder written again: with the graphs of this release, with other defaults, with other heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from turia.engine.model import Attention
from turia.export.folder import write_tensors
from turia.export.stored import read_tensors
from turia.policy.dial import DialPoint
from turia.runtime.card import read_card
from turia.runtime.folder import ModelConfig, load_folder
from turia.runtime.heads import head_list
from turia.text.known_words import FILES as WORD_FILES
from turia.text.known_words import given_word_files


def export_model(
    model: Path,
    folder: Path,
    history: int | None = None,
    beam: int | None = None,
    heads: Sequence[Path] | None = None,
    attention: Attention | None = None,
    policy: str | None = None,
    dial: tuple[DialPoint, ...] = (),
    words: Path | None = None,
) -> ModelConfig:
    """Writes `folder` from a model folder of any release, with the graphs of this one. Its weights, precision, card
    and segmenter stay; all else changes only where it is given. `words` is a folder with lists of words."""
    old = load_folder(model)
    looked_at = attention or Attention(old.config.attention_layer, old.config.attention_head)
    config = replace(
        old.config,
        history=old.config.history if history is None else history,
        beam=old.config.beam if beam is None else beam,
        attention_layer=looked_at.layer,
        attention_head=looked_at.head,
        policy=old.config.policy if policy is None else policy,
        dial=dial or old.config.dial,
    )
    card = read_card(model)
    segmenter = sorted(model / name for name in old.listed if name.startswith("segmenter"))
    lists = [model / name for name in WORD_FILES if name in old.listed] if words is None else given_word_files(words)
    own_heads = [model / name for name in head_list(old).files()]
    write_tensors(
        folder, config, read_tensors(model), card, model, [*segmenter, *lists, *(own_heads if heads is None else heads)]
    )
    return config
