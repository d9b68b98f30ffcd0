"""A loaded translation model: what the engine needs to know of it, and nothing of where it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from turia.config import Anchor, Encoder, Search
from turia.engine.backend import Backend
from turia.policy.base import Head
from turia.text.choice import Forbidden, forbidden_pieces
from turia.text.subwords import Subwords


@dataclass(frozen=True)
class Attention:
    """The cross-attention that tells best which source word a target word translates."""

    layer: int = -1
    """Of the decoder; -1 is the last."""
    head: int | None = None
    """None averages over all heads."""


@dataclass(frozen=True)
class Model:
    """A translation model and its properties."""

    name: str
    backend: Backend
    source_subwords: Subwords
    target_subwords: Subwords
    encoder: Encoder
    anchor: Anchor
    gamma: float
    history: int
    max_positions: int
    source_opening: bool = True
    """Whether a window of the source begins with a symbol."""
    source_piece: int | None = None
    """In models of many languages: the piece in place of that symbol, which says the language."""
    target_piece: int | None = None
    """The piece after the symbol that opens the target: the language to translate to."""
    closes_prefixes: bool = False
    """Whether the beginning of a sentence is closed like a whole one, as the model knows no others."""
    recompute: bool = False
    """Whether streams compute the decoder's states of written words again, unless told otherwise."""
    normalises: bool = True
    """Whether it was trained on words as a recogniser says them; else it gets them as they are."""
    languages: tuple[str, str] = ("", "")
    """Codes of source and target. Not to be read out of the name: `pt-BR-en` has one hyphen too many."""
    fingerprint: str = ""
    """The beginning of the sum of its folder: tells models of one name apart."""
    beam: int = 1
    """Hypotheses of the search that streams have unless told otherwise."""
    search: Search = "turia"
    """How a beam ends."""
    policy: str | None = None
    """The policy that streams have unless told otherwise; None is wait-k."""
    attention: Attention = Attention()
    heads: Mapping[str, Head] = field(default_factory=dict)
    """What learned policies look through, by name."""

    @cached_property
    def forbidden(self) -> Forbidden:
        """Which target pieces may not come where."""
        return forbidden_pieces(self.target_subwords)

    @cached_property
    def vocabulary_fingerprint(self) -> str:
        """Tells vocabularies apart: the numbers of one mean nothing in another."""
        both = self.source_subwords.model + self.target_subwords.model
        return hashlib.sha256(both).hexdigest()[:16]
