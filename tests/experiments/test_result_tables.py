"""The tables of docs/results.md, from the results of a sweep."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from benchmarks.page import keep_figures
from benchmarks.results import section, table


def row(curve: str, k: int, bleu: float, p: float | None = None, offline: bool = False) -> dict[str, Any]:
    return {
        "test": "dev",
        "curve": curve,
        "k": k,
        "offline": offline,
        "BLEU": bleu,
        "chrF": 50.04,
        "AP": 0.8,
        "AL": 4.06,
        "DAL": 5.5,
        "words": 90,
        "reference_words": 100,
    } | ({"BLEU_p": p} if p is not None else {})


def test_several_k_are_columns_with_the_delay() -> None:
    rows = [row("w = 2", 4, 20.0), row("oracle segments", 8, 22.0), row("w = 2", 8, 21.0)]
    assert table([*rows, row("whole sentences", 0, 23.0, offline=True)]) == [
        "|  | k = 4 | k = 8 |",
        "|---|---:|---:|",
        "| w = 2 | 20.0 (4.1 / 5.5) | 21.0 (4.1 / 5.5) |",
        "| the reference's sentences |  | 22.0 (4.1 / 5.5) |",
        "",
        "whole sentences: 23.0 (4.1 / 5.5).",
    ]


def test_what_was_tested_shows_p_in_place_of_the_delay() -> None:
    found = table(
        [row("h = 0", 4, 20.0), row("h = 0", 8, 21.0), row("h = 60", 4, 20.5, 0.01), row("h = 60", 8, 21.2, 0.3)]
    )
    assert found[2:] == ["| h = 0 | 20.0 | 21.0 |", "| h = 60 | 20.5 (0.010) | 21.2 (0.300) |"]


def test_one_k_has_a_line_for_each_configuration() -> None:
    found = table([row("w = 2, beam 4", 8, 20.6), row("whole sentences, beam 4", 0, 23.0, offline=True)])
    assert found == [
        "|  | k, or policy | BLEU | chrF | AP | AL | DAL | length |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        "| w = 2, beam 4 | 8 | 20.6 | 50.0 | 0.80 | 4.1 | 5.5 | 0.90 |",
        "| whole sentences, beam 4 | all | 23.0 | 50.0 | 0.80 | 4.1 | 5.5 | 0.90 |",
    ]


def test_a_policy_without_k_is_named() -> None:
    looking = row("w = 2, alignatt", 0, 24.0) | {"k": None, "policy": "alignatt:f=3"}
    found = table([row("w = 2", 8, 20.6), looking])
    assert found[2:] == [
        "| w = 2 | 8 | 20.6 | 50.0 | 0.80 | 4.1 | 5.5 | 0.90 |",
        "| w = 2, alignatt | `alignatt:f=3` | 24.0 | 50.0 | 0.80 | 4.1 | 5.5 | 0.90 |",
    ]


def test_a_section_names_test_set_model_command_and_day() -> None:
    results = {
        "models": [{"name": "de-en", "sha256": "0123456789abcdef"}],
        "tests": [{"name": "dev", "streams": 1, "sentences": 1300, "source_words": 25296}],
        "results": [row("w = 2", 8, 20.0)],
    }
    text = section(results, "sweep-shipped-de-en", datetime.date(2026, 11, 17))
    assert text.startswith("dev: 1,300 sentences, 25,296 source words, one stream.\n\n|")
    assert text.endswith(
        "`turia sweep recipes/sweep-shipped-de-en.toml`, 17 November 2026; model de-en (`0123456789ab`); "
        "[all figures](figures/sweep-shipped-de-en.md)."
    )


def test_the_pictures_that_the_page_shows_are_kept(tmp_path: Path) -> None:
    sweep, page = tmp_path / "sweep", tmp_path / "docs" / "results.md"
    sweep.mkdir()
    page.parent.mkdir()
    page.write_text("![](figures/one-latency.svg) ![](figures/one-ted-k.svg)")
    (sweep / "results.md").write_text("table")
    for name in ("dev-latency", "ted-k", "dev-k"):
        (sweep / f"{name}.svg").write_text(name)
    keep_figures(sweep, "one", page)
    kept = {path.name: path.read_text() for path in (page.parent / "figures").iterdir()}
    assert kept == {"one.md": "table", "one-latency.svg": "dev-latency", "one-ted-k.svg": "ted-k"}
