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


def export_model(
    model: Path,
    folder: Path,
    history: int | None = None,
    beam: int | None = None,
    heads: Sequence[Path] | None = None,
    attention: Attention | None = None,
    policy: str | None = None,
    dial: tuple[DialPoint, ...] = (),
) -> ModelConfig:
    """Writes `folder` from a model folder of any release, with the graphs of this one. Its weights, precision, card
    and segmenter stay; all else changes only where it is given."""
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
    own_heads = [model / name for name in head_list(old).files()]
    write_tensors(
        folder, config, read_tensors(model), card, model, [*segmenter, *(own_heads if heads is None else heads)]
    )
    return config
