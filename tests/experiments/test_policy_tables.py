"""The page on policies is made of what sweeps found: benchmarks/policies.py."""

from __future__ import annotations

import datetime
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarks.page import put
from benchmarks.policies import at, compared, draw, goals, points, section, store
from turia.policy.dial import DialPoint
from turia.runtime.folder import load_folder

DAY = datetime.date(2026, 11, 17)


def row(policy: str, al: float, bleu: float, **more: Any) -> dict[str, Any]:
    return {
        "system": "de-en", "segments": "oracle", "window": None, "beam": 4, "recompute": False, "policy": policy,
        "offline": policy == "whole", "BLEU": bleu, "AL": al, "test": "europarl-st dev de-en", **more,
    }  # fmt: skip


def results(*rows: dict[str, Any], test: str = "europarl-st dev de-en") -> dict[str, Any]:
    return {
        "models": [{"name": "de-en", "sha256": "7fa501c708d4" + 52 * "0"}],
        "tests": [{"name": test, "sentences": 1300, "source_words": 26000}],
        "results": list(rows),
    }


MEASURED = results(
    row("wait-k:k=2,rounding=floor", 2.0, 16.0, beam=1),
    row("wait-k:k=2,rounding=floor", 2.0, 18.0),
    row("wait-k:k=4,rounding=floor", 4.0, 20.0),
    row("wait-k:k=8,rounding=floor", 6.0, 21.0),
    row("alignatt:f=2", 3.0, 20.0, BLEU_difference=1.04, BLEU_p=0.012, BLEU_confidence=1.26,
        longyaal={"LongYAAL": 3.55}, calls_per_word=3.5, words_per_second=213.4),
    row("alignatt:f=4", 5.0, 21.5),
    row("whole", 12.0, 22.0),
)  # fmt: skip


def test_a_row_has_what_was_measured_and_the_test_against_wait_k() -> None:
    page = section(MEASURED, "policies-dev-de-en", DAY)
    assert "| `alignatt:f=2` | 20.0 ± 1.3 | +1.0 (0.012) | 3.0 | 3.5 | 3.5 | 213 |" in page
    assert "| `wait-k:k=4` | 20.0 |  | 4.0 |  |  |  |" in page
    assert "1,300 sentences, 26,000 source words. Model: de-en (`7fa501c708d4`). 17 November 2026" in page
    assert "**The reference's sentences, greedy**" in page
    assert "**The reference's sentences, beam 4**" in page


def test_the_share_of_the_distance_to_whole_sentences() -> None:
    own = [point for point in points(MEASURED) if point.beam == 4 and not point.whole]
    assert at(own[:3], 3.0) == pytest.approx(19.0)
    assert at(own[:3], 7.0) is None
    # At AL 3: 20.0 - 19.0 of 22.0 - 19.0. At AL 5: 21.5 - 20.5 of 22.0 - 20.5.
    assert goals(own, 22.0) == ["`alignatt`: +1.0, 33% at AL 3; +0.8, 38% at AL 4; +1.0, 67% at AL 5."]
    assert goals(own, None) == ["`alignatt`: +1.0 at AL 3; +0.8 at AL 4; +1.0 at AL 5."]


def test_models_are_compared_by_their_best_policies() -> None:
    other = [row("wait-k:k=2,rounding=floor", 2.0, 10.0, system="mine"), row("wait-k:k=8", 6.0, 14.0, system="mine")]
    both = results(*(one for one in MEASURED["results"] if one["beam"] == 4), *other)
    both["models"].append({"name": "mine", "sha256": "0" * 64})
    assert compared(points(both)) == [
        "| model | AL 3 | AL 4 | AL 5 | AL 6 | AL 8 | whole sentences |",
        "|---|---:|---:|---:|---:|---:|---:|",
        "| de-en | 20.0 (alignatt) | 20.8 (alignatt) | 21.5 (alignatt) | 21.0 (wait-k) |  | 22.0 |",
        "| mine | 11.0 (wait-k) | 12.0 (wait-k) | 13.0 (wait-k) | 14.0 (wait-k) |  |  |",
    ]
    page = section(both, "policies-offline-dev-de-en", DAY)
    assert "| mine | 11.0 (wait-k) |" in page
    assert "**mine, the reference's sentences, beam 4**" in page
    assert "equal latency" not in section(MEASURED, "policies-dev-de-en", DAY)


def test_what_is_written_takes_the_place_of_what_was_there() -> None:
    page = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
    assert put(page, "x", "new\n") == "a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nb\n"
    assert put(put(page, "x", "other"), "x", "new") == put(page, "x", "new")
    with pytest.raises(SystemExit, match="the page has no place for y"):
        put(page, "y", "new")


def test_the_picture_has_a_line_for_each_policy(tmp_path: Path) -> None:
    draw(MEASURED, tmp_path / "figures" / "dev.svg")
    drawn = (tmp_path / "figures" / "dev.svg").read_text(encoding="utf-8")
    assert all(name in drawn for name in ("wait-k", "alignatt", "whole sentences", "beam 4"))


def test_a_dev_set_s_best_policy_becomes_dial_and_default(model_folder: Path, tmp_path: Path) -> None:
    model = shutil.copytree(model_folder, tmp_path / "model")
    found = tmp_path / "results.json"
    found.write_text(json.dumps(MEASURED), encoding="utf-8")
    store(model, found)
    config = load_folder(model).config
    assert config.dial == (DialPoint("alignatt:f=2", 3.0, 20.0), DialPoint("alignatt:f=4", 5.0, 21.5))
    assert config.policy == "alignatt:f=2"  # as near to wait-k's default, AL 4.0, as the other, and the sooner one
    found.write_text(json.dumps(results(*MEASURED["results"], test="europarl-st test de-en")), encoding="utf-8")
    with pytest.raises(SystemExit, match="chosen on dev only"):
        store(model, found)
