"""A loaded translation model: what the engine needs to know of it, and nothing of where it came from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from turia.config import Anchor, Encoder, Search
from turia.engine.backend import Backend, SearchRules
from turia.engine.choosing import Choose, best_continuations
from turia.engine.names import SpokenNames
from turia.errors import ConfigError
from turia.policy.base import Flags, Head, Logits, Policy, row_sureness
from turia.policy.dial import USUAL_DIAL, USUAL_POLICY, DialPoint
from turia.text.choice import Forbidden, forbidden_pieces
from turia.text.subwords import Subwords

_ATTENTION = re.compile(r"([+-]?[0-9]{1,9})(?: *: *([+-]?[0-9]{1,9}))?")


@dataclass(frozen=True)
class Attention:
    """The cross-attention that tells best which source word a target word translates."""

    layer: int = -1
    """Of the decoder; -1 is the last."""
    head: int | None = None
    """None averages over all heads."""

    def of(self, every: npt.NDArray[np.float32], layer: int | None = None) -> npt.NDArray[np.float32]:
        """[S] of the attention [L, H, S] of all layers and heads.

        The heads of another `layer` are averaged: ours was chosen in its own layer.
        """
        chosen = every[self.layer if layer is None else layer]
        other = layer is not None and (layer - self.layer) % len(every) != 0
        found: npt.NDArray[np.float32] = chosen.mean(axis=0) if other or self.head is None else chosen[self.head]
        return found


def parse_attention(text: str) -> Attention:
    """The attention that `LAYER` or `LAYER:HEAD` means."""
    found = _ATTENTION.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"attention is {text!r}, expected LAYER or LAYER:HEAD, such as 1 or 1:3")
    return Attention(int(found[1]), None if found[2] is None else int(found[2]))


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
    recases: bool = False
    """Whether words get the case and the full stops that written text has (casing.py)."""
    languages: tuple[str, str] = ("", "")
    """Codes of source and target. Not to be read out of the name: `pt-BR-en` has one hyphen too many."""
    fingerprint: str = ""
    """The beginning of the sum of its folder: tells models of one name apart."""
    beam: int = 1
    """Hypotheses of the search that streams have unless told otherwise."""
    search: Search = "turia"
    """How a beam ends."""
    length_penalty: float = 1.0
    """Of a beam: whole translations are compared by log-probability / pieces ** length_penalty."""
    attention: Attention = Attention()
    heads: Mapping[str, Head] = field(default_factory=dict)
    """What learned policies look through, by name."""
    layers: int | None = None
    """Of the decoder; None where it is no Transformer."""
    policy: Policy = USUAL_POLICY
    """What streams have unless told otherwise."""
    dial: tuple[DialPoint, ...] = USUAL_DIAL
    """From the soonest to the surest."""
    free: bool = False
    """Whether it was trained to work without a segmenter too: it writes separators, and asks for more to be read."""
    reverse: Model | None = None
    """A model of the opposite direction, which says where the source is cut when there is no segmenter."""
    choose: Choose = best_continuations
    """How a beam finds its best continuations."""
    sureness: Callable[[Logits, Flags], float] = row_sureness
    """How sure the model is of the next word, by the logits of a row and the pieces that cannot begin one."""
    searches: bool = False
    """Whether search requests are made, if the backend takes them; one that stands in for another may not."""
    names: SpokenNames | None = None
    """How misspelt names are known; None leaves every word as the model spells it."""

    @property
    def history_positions(self) -> int:
        """Positions that history may take up: half, as more is left than any sentence of a segmenter needs."""
        return self.max_positions // 2

    @property
    def sentence_positions(self) -> int:
        """Pieces that a source sentence may have: what history leaves, less a symbol."""
        return self.max_positions - self.history_positions - 1

    @cached_property
    def forbidden(self) -> Forbidden:
        """Which target pieces may not come where."""
        return forbidden_pieces(self.target_subwords)

    @cached_property
    def search_rules(self) -> SearchRules:
        """For search requests."""
        subwords = self.target_subwords
        borders = subwords.starts_word if subwords.space_first else subwords.ends_word
        return SearchRules(self.forbidden, borders, subwords.space_first, self.length_penalty)

    @cached_property
    def vocabulary_fingerprint(self) -> str:
        """Tells vocabularies apart: the numbers of one mean nothing in another."""
        both = self.source_subwords.model + self.target_subwords.model
        return hashlib.sha256(both).hexdigest()[:16]


def without_attention(model: str, policy: str) -> str:
    """Why a policy that looks at attention cannot run, and what to do."""
    return (
        f"{model}: policy {policy} looks at attention, which this model folder does not give; "
        "write one that does with `turia export FOLDER NEW-FOLDER`"
    )


def without_rows(model: str, what: str) -> str:
    """The same, for what needs several rows of the decoder at once and is no policy."""
    return (
        f"{model}: {what} looks at several words at once, which this model folder does not give; "
        "write one that does with `turia export FOLDER NEW-FOLDER`"
    )
