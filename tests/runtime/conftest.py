"""Models that the tests of the runtime share: written and loaded once."""

from __future__ import annotations

from functools import cache

import pytest

from tests.runtime.models import Both, MakeBoth, Norm, make_both
from turia.runtime.tensors import Precision


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> MakeBoth:
    """norm, joint, precision -> the model."""

    @cache
    def make(norm: Norm, joint: bool, precision: Precision) -> Both:
        return make_both(tmp_path_factory.mktemp("model"), norm, joint, precision)

    return make
