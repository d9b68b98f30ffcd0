"""What a server counts, alone and together with others."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import turia.server
from turia.protocol.events import SettingsInForce, SourceWord
from turia.server.cluster import Totals
from turia.server.logs import LINES_PER_MINUTE
from turia.server.metrics import Metrics
from turia.stream.trace import End, Note, SentenceEnd, Write

EVENTS = (
    SettingsInForce("de-en", "de", "en", 2, 1.0, 1, 0.0, 0, 10, True),
    SourceWord("ka", 0, 1.0),
    SourceWord("le", 1, 2.0),
    Write("ka", 0, 2, 0, "policy", 2.0),
    Note("loop", 0),
    SentenceEnd(0, 2, 1, "end"),
    End(2, 1),
)


def value(page: bytes, name: str) -> float:
    (line,) = [line for line in page.decode().splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def test_words_are_counted_and_their_lag_measured() -> None:
    metrics = Metrics()
    metrics.count_words(EVENTS, [1])
    page = metrics.text()
    assert value(page, "turia_source_words_total") == 2
    assert value(page, "turia_target_words_total") == 1
    assert (value(page, "turia_lag_words_count"), value(page, "turia_lag_words_sum")) == (1, 1)


def test_a_refusal_is_counted_each_time_and_logged_sparingly(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    with caplog.at_level("INFO", logger="turia.server"):
        for _ in range(2 * LINES_PER_MINUTE):
            metrics.refused("capacity")
        metrics.refused("key")
    assert 'turia_refusals_total{code="capacity"} 20.0' in metrics.text().decode()
    told = [(record.levelname, vars(record)["code"]) for record in caplog.records]
    assert told == [("WARNING", "capacity")] * LINES_PER_MINUTE + [("INFO", "key")]


def test_every_reason_is_there_before_it_comes_up() -> None:
    """Prometheus sees no increase in a series that begins with 1."""
    page = Metrics().text().decode()
    for code in ("capacity", "store", "ticket"):
        assert f'turia_refusals_total{{code="{code}"}} 0.0' in page


def test_refusals_are_counted_where_they_are_logged() -> None:
    server = Path(turia.server.__file__).parent
    for path in server.rglob("*.py"):
        assert path.name == "metrics.py" or "refusals.labels" not in path.read_text(encoding="utf-8"), path.name


def test_no_text_is_on_the_page() -> None:
    metrics = Metrics()
    metrics.count_words([SourceWord("geheim", 0, 1.0), Write("hidden", 0, 1, 0, "policy")], [0])
    assert b"geheim" not in metrics.text()
    assert b"hidden" not in metrics.text()


def test_servers_add_up_what_they_counted() -> None:
    one, other = Metrics(), Metrics()
    one.count_words(EVENTS, [1])
    other.count_words(EVENTS[:2], [])
    other.refusals.labels("capacity").inc(3)
    counts = [metrics.counts() for metrics in (one, other)]
    sums = {name: sum(count.get(name, 0.0) for count in counts) for count in counts for name in count}
    assert sums[json.dumps(["turia_source_words_total", {}])] == 3
    page = one.cluster_text(sums, Totals(2, 5, 16, 7, Counter()))
    assert value(page, "turia_source_words_total") == 3
    assert value(page, 'turia_refusals_total{code="capacity"}') == 3
    assert (value(page, "turia_replicas"), value(page, "turia_streams")) == (2, 5)
