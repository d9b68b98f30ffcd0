"""The steps of a dial are the measured points of the best policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turia.errors import FormatError
from turia.experiments.dial import dial_of
from turia.policy.dial import DialPoint


def measured(policy: str, al: float, bleu: float, **more: Any) -> dict[str, Any]:
    return {"test": "dev", "policy": policy, "AL": al, "BLEU": bleu, "offline": False, "window": None, **more}


def results(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps({"results": rows}), encoding="utf-8")
    return path


def test_the_best_policy_s_points_that_are_better_than_the_sooner_ones(tmp_path: Path) -> None:
    path = results(
        tmp_path,
        measured("wait-k:k=2", 2, 15),
        measured("wait-k:k=6", 6, 19),
        measured("alignatt:f=2", 3, 18),
        measured("alignatt:f=1", 2, 16),
        measured("alignatt:f=4", 4, 17.5),
        measured("alignatt:f=8", 5, 19.123456),
        measured("whole", 12, 25, offline=True),
        measured("edatt", 3, 30, test="other"),
        {"test": "dev", "curve": "authors", "AL": 4, "BLEU": 33},
    )
    assert dial_of(path) == (
        DialPoint("alignatt:f=1", 2, 16),
        DialPoint("alignatt:f=2", 3, 18),
        DialPoint("alignatt:f=8", 5, 19.12),
    )


def test_with_the_segmenter_if_that_was_measured(tmp_path: Path) -> None:
    path = results(
        tmp_path,
        measured("wait-k:k=2", 2, 15),
        measured("wait-k:k=6", 6, 19),
        measured("wait-k:k=2", 4, 14, window=2),
        measured("wait-k:k=6", 8, 18, window=2),
    )
    assert [point.al for point in dial_of(path)] == [4, 8]


def test_one_model_with_its_widest_beam(tmp_path: Path) -> None:
    own, other = {"system": "de-en"}, {"system": "offline"}
    path = results(
        tmp_path,
        measured("wait-k:k=2", 2, 15, beam=1, **own),
        measured("wait-k:k=6", 6, 19, beam=1, **own),
        measured("wait-k:k=2", 2.5, 16, beam=4, **own),
        measured("wait-k:k=6", 6.5, 20, beam=4, **own),
        measured("hold-n:n=2", 2, 30, beam=4, **other),
        measured("hold-n:n=6", 6, 40, beam=4, **other),
    )
    assert dial_of(path) == (DialPoint("wait-k:k=2", 2.5, 16), DialPoint("wait-k:k=6", 6.5, 20))


def test_what_is_no_result_of_a_sweep(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is nothing to dial"):
        dial_of(results(tmp_path, measured("wait-k:k=2", 2, 15)))
    (tmp_path / "results.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FormatError, match="not the results of a sweep"):
        dial_of(tmp_path / "results.json")
