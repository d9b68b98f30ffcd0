"""What a ticket stands for survives being written down."""

from __future__ import annotations

import pytest

from turia.server.admission import Admission, RefusedError


@pytest.mark.parametrize("admission", [Admission("a name", "speaker", 7), Admission("n", "viewer", 0)])
def test_an_admission_is_read_as_it_was_written(admission: Admission) -> None:
    assert Admission.from_text(admission.to_text()) == admission


def test_a_role_that_nobody_knows_only_watches() -> None:
    assert Admission.from_text("operator 3 name").role == "viewer"


def test_a_refusal_has_a_code() -> None:
    assert (RefusedError("capacity", "full").code, str(RefusedError("capacity", "full"))) == ("capacity", "full")
