"""What the server counts, for Prometheus. Only numbers: no text, no session, no address."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from turia.protocol.events import Event, SourceWord
from turia.server.cluster import Totals
from turia.server.logs import Sparingly
from turia.stream.trace import Write

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0)
WORRYING = ("capacity", "key-capacity", "quota", "sockets", "store", "failed", "damaged", "connections")
"""Refusals for which somebody may have to do something."""
CODES = (
    *WORRYING, "ended", "frames", "gap", "hello", "idle", "key", "message", "moved", "not-ready", "origin", "protocol",
    "queue", "replaced", "role", "secret", "session", "size", "slow", "slow-request", "sound", "sound-capacity",
    "sound-language", "ticket", "transcripts",
)  # fmt: skip
"""Refusals that are shown from the beginning: Prometheus does not see the first of a series that begins with it."""
WORDS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
log = logging.getLogger("turia.server")


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.streams = Gauge("turia_streams", "Streams that hold a place", registry=self.registry)
        self.work = Gauge("turia_work_streams", "People who speak that would make as much work", registry=self.registry)
        self.capacity = Gauge("turia_capacity_streams", "Streams that are taken at once", registry=self.registry)
        self.viewers = Gauge("turia_viewers", "Connections that only read", registry=self.registry)
        self.words_in = Counter("turia_source_words", "Source words stored", registry=self.registry)
        self.words_out = Counter("turia_target_words", "Target words written", registry=self.registry)
        self.delay = Histogram(
            "turia_delay_seconds",
            "From the arrival of an input until its events are stored: delay beyond the policy",
            buckets=SECONDS,
            registry=self.registry,
        )
        self.lag = Histogram(
            "turia_lag_words",
            "Source words read that have no translation yet, when a target word is written",
            buckets=WORDS,
            registry=self.registry,
        )
        self.refusals = Counter("turia_refusals", "Requests and connections refused", ["code"], registry=self.registry)
        for code in CODES:
            self.refusals.labels(code)
        self.resumes = Counter("turia_resumes", "Speakers who came back to a session", registry=self.registry)
        self._sparingly = Sparingly()

    def refused(self, code: str) -> None:
        """Counts a request or a connection that was refused, and logs why."""
        self.refusals.labels(code).inc()
        left_out = self._sparingly.left_out(code, time.monotonic())
        if left_out is not None:
            level = logging.WARNING if code in WORRYING else logging.INFO
            log.log(level, "refused", extra={"code": code} | ({"left_out": left_out} if left_out else {}))

    def count_words(self, events: Iterable[Event], lags: Iterable[int]) -> None:
        """Source and target words among new events, and how far behind the target words are (`turia.server.lag`)."""
        for event in events:
            if isinstance(event, SourceWord):
                self.words_in.inc()
            elif isinstance(event, Write):
                self.words_out.inc()
        for lag in lags:
            self.lag.observe(lag)

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self.registry)

    def counts(self) -> dict[str, float]:
        """The counters and histograms, by name and labels. They only grow, so servers can add theirs up."""
        return {
            json.dumps([sample.name, sample.labels], sort_keys=True): sample.value
            for family in self.registry.collect()
            if family.type in ("counter", "histogram")
            for sample in family.samples
            if not sample.name.endswith("_created")
        }

    def cluster_text(self, counted: Mapping[str, float], together: Totals) -> bytes:
        """The page that Prometheus reads, of all servers together; `counted` are the sums of `counts()`."""
        registry = CollectorRegistry()
        registry.register(_Sums(self, counted, together))
        return generate_latest(registry)


class _Sums(Collector):
    """The families of one server with the values of all."""

    def __init__(self, metrics: Metrics, counted: Mapping[str, float], together: Totals) -> None:
        self._metrics, self._counted, self._together = metrics, counted, together

    def collect(self) -> Iterator[Metric]:
        # Own keys come first: they have the order of the buckets.
        sums = dict.fromkeys(self._metrics.counts(), 0.0) | dict(self._counted)
        for family in self._metrics.registry.collect():
            if family.type not in ("counter", "histogram"):
                continue
            names = {family.name + end for end in ("_total", "_bucket", "_count", "_sum")}
            merged = Metric(family.name, family.documentation, family.type)
            for key, value in sums.items():
                name, labels = json.loads(key)
                if name in names:
                    merged.add_sample(name, labels, value)
            yield merged
        together = self._together
        yield GaugeMetricFamily("turia_replicas", "Servers that take streams", together.members)
        yield GaugeMetricFamily("turia_capacity_streams", "Streams that they take together", together.capacity)
        yield GaugeMetricFamily("turia_streams", "Streams that hold a place", together.streams)
        yield GaugeMetricFamily("turia_work_streams", "People who speak that would make as much work", together.work)
        yield GaugeMetricFamily("turia_viewers", "Connections that only read", together.viewers)
