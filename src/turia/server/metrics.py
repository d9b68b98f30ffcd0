"""What the server counts, for Prometheus. Numbers alone: no text, no session, no address."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0)
WORDS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.streams = Gauge("turia_streams", "Streams that hold a place", registry=self.registry)
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
            "Source words read minus target words written, when a target word is written",
            buckets=WORDS,
            registry=self.registry,
        )
        self.refusals = Counter("turia_refusals", "Requests and connections refused", ["code"], registry=self.registry)
        self.resumes = Counter("turia_resumes", "Speakers who came back to a session", registry=self.registry)

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self.registry)
