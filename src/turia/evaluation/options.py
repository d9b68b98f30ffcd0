"""What can be chosen in an evaluation. Imports nothing heavy, so that the command line can name the choices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from turia.evaluation.latency import DAL_SCALE


class Unit(StrEnum):
    """What one WRITE stands for: a plain word, or a Moses token as the authors' systems wrote them."""

    WORD = "word"
    MOSES = "moses"


class Convention(StrEnum):
    """Who measures latency how; see `latency`."""

    AUTHORS = "authors"
    SIMULEVAL = "simuleval"
    STREAMLAAL = "streamlaal"
    LONGYAAL = "longyaal"
    ALL = "all"


@dataclass(frozen=True)
class EvaluationOptions:
    """How to score."""

    dal_scale: float = DAL_SCALE
    unit: Unit = Unit.WORD
    language: str = "en"
    """Of the target, for Moses tokens."""
    latency: tuple[Convention, ...] = ()
    """Conventions to report; the authors' always are."""
    resamples: int = 0
    """Bootstrap resamples for confidence intervals of BLEU and chrF; 0 for none."""

    def conventions(self) -> list[Convention]:
        """What is reported, the authors' first."""
        asked = {Convention.AUTHORS, *(Convention if Convention.ALL in self.latency else self.latency)}
        return [convention for convention in Convention if convention in asked - {Convention.ALL}]
