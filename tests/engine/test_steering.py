"""Where a bonus is given: not where the model comes to the term by itself."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.fakes import TargetSeen, run, written
from tests.engine.test_terms import POLICIES, SPEECH, Aligned, stream
from turia.engine.terms import bare
from turia.text.glossary import parse_glossary


class Detour(Aligned):
    """Looks at the word after the one that it is about to write."""

    def _attention(self, state: TargetSeen, shape: tuple[int, ...]) -> np.ndarray:
        return np.roll(super()._attention(state, shape), 1, axis=3)


@pytest.mark.parametrize("policy", POLICIES)
def test_what_the_model_writes_by_itself_is_left_where_it_stands(policy: str) -> None:
    # An echo writes both terms by itself, a word later than where the attention of the second one is on them.
    own = parse_glossary("miso\nrata\n")
    for backend in (Aligned(), Detour()):
        plain = [bare(word) for word in written(run(stream(backend, policy, 1, None, sentences=1), SPEECH))]
        steered = written(run(stream(backend, policy, 1, own, sentences=1), SPEECH))
        assert [bare(word) for word in steered] == plain


def test_what_the_model_would_not_write_is_put_where_attention_is() -> None:
    steered = [bare(word) for word in written(run(stream(Detour(), "whole", sentences=1), SPEECH))]
    assert steered[:3] == ["ka", "puso", "lende"]
