"""The tables of docs/comparison.md, from the results of a sweep."""

from __future__ import annotations

import datetime
from typing import Any

from benchmarks.comparison import section, table


def row(curve: str, k: int | None, bleu: float, **more: object) -> dict[str, Any]:
    figures = {"AP": 0.8, "AL": 4.06, "DAL": 5.5, "words": 90, "reference_words": 100, "offline": False}
    return {"test": "dev", "curve": curve, "k": k, "BLEU": bleu, "policy": f"wait-k:k={k}", **figures, **more}


def test_each_point_has_a_line_with_its_difference_from_wait_k() -> None:
    chunk = row("chunk", None, 20.4, policy="chunk:delay=1", BLEU_p=0.001, BLEU_difference=2.64)
    assert table([row("oracle segments", 4, 20.0), chunk, row("whole sentences", 0, 25.0, offline=True)]) == [
        "| system | k, or policy | BLEU | to wait-k (p) | AP | AL | DAL | length |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        "| the reference's sentences | 4 | 20.0 |  | 0.80 | 4.1 | 5.5 | 0.90 |",
        "| chunk | `chunk:delay=1` | 20.4 | +2.6 (0.001) | 0.80 | 4.1 | 5.5 | 0.90 |",
        "| whole sentences | all | 25.0 |  | 0.80 | 4.1 | 5.5 | 0.90 |",
    ]


def test_curves_of_wait_k_alone_are_against_k() -> None:
    found = table([row("w = 2", 4, 20.0), row("w = 2", 8, 21.0), row("no segmenter", 4, 19.0)])
    assert found == [
        "|  | k = 4 | k = 8 |",
        "|---|---:|---:|",
        "| w = 2 | 20.0 (4.1 / 5.5) | 21.0 (4.1 / 5.5) |",
        "| no segmenter | 19.0 (4.1 / 5.5) |  |",
    ]


def test_columns_without_figures_are_left_out() -> None:
    heads = table([row("act", None, 20.0, policy="act", calls_per_word=2.31, words_per_second=1200.4)])[0]
    assert heads == "| system | k, or policy | BLEU | AP | AL | DAL | length | calls/word | words/s |"


def test_a_section_has_the_best_of_each_regime_and_says_what_made_it() -> None:
    results = {
        "models": [{"name": "en-de", "sha256": "0123456789abcdef"}],
        "recipe": {"regimes": [3, 6]},
        "tests": [{"name": "dev", "streams": 27, "sentences": 1200, "source_words": 30000}],
        "results": [
            row("wait-k", 4, 20.0),
            row("wait-k", 6, 21.0),
            row("act", None, 19.0, policy="act:lag_cost=0.1", AL=2.5),
        ],
    }
    lines = section(results, "compare-dev-en-de", datetime.date(2026, 11, 18)).splitlines()
    assert lines[0] == "dev: 1,200 sentences, 30,000 source words, 27 streams."
    assert lines[2:6] == [
        "| curve | AL ≤ 3 | 3 < AL ≤ 6 |",
        "|---|---:|---:|",
        "| wait-k |  | 21.0 (AL 4.1, k = 6) |",
        "| act | 19.0 (AL 2.5, lag_cost=0.1) |  |",
    ]
    assert lines[-1] == (
        "`turia sweep recipes/compare-dev-en-de.toml`, 18 November 2026; model en-de (`0123456789ab`); "
        "[all figures](figures/compare-dev-en-de.md)."
    )
