"""The dial: what its steps may be."""

from __future__ import annotations

import pytest

from turia.errors import ConfigError
from turia.policy.dial import USUAL_DIAL, DialPoint, check_dial, default_policy, unmeasured_dial
from turia.policy.holdn import HoldN
from turia.policy.table import parse_policy
from turia.policy.waitk import WaitK


def test_without_measured_points_it_is_wait_k() -> None:
    assert [parse_policy(step.policy) for step in USUAL_DIAL] == [WaitK(k) for k in range(1, 13)]
    assert default_policy(None) == WaitK(4)
    assert default_policy("hold-n:n=2") == HoldN(2)


def test_steps_are_known_policies_and_go_from_sooner_to_surer() -> None:
    with pytest.raises(ConfigError, match="did you mean 'hold-n'"):
        DialPoint("hold-m:n=2")
    check_dial((DialPoint("hold-n:n=1", 2.0), DialPoint("hold-n:n=2", 3.0), DialPoint("whole")))
    with pytest.raises(ConfigError, match="from sooner to surer"):
        check_dial((DialPoint("hold-n:n=1", 3.0), DialPoint("hold-n:n=2", 2.0)))


def test_a_model_that_nobody_measured_has_the_steps_of_its_own_policy() -> None:
    held = unmeasured_dial(parse_policy("hold-n:n=2"))
    assert [point.policy for point in held] == [f"hold-n:n={n}" for n in range(1, 7)]
    assert unmeasured_dial(parse_policy("alignatt:f=3")) == USUAL_DIAL
