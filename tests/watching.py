"""Prometheus with the files of deploy/, which reads a server under test and is asked what Grafana would ask."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.proxies import DEPLOY, need, running
from tests.server.servers import free_port


@dataclass(frozen=True)
class Prometheus:
    url: str

    def ask(self, path: str, **parameters: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}") as answer:
            return json.load(answer)["data"]

    def wait_for(self, query: str, seconds: float = 60.0) -> list[float]:
        """The values of a panel's query, as soon as there are some: a rate needs two readings."""
        until = time.monotonic() + seconds
        while True:
            series = self.ask("query", query=query.replace("$instance", ".*"))["result"]
            values = [float(one["value"][1]) for one in series]
            if any(value == value for value in values) or time.monotonic() > until:
                return values
            time.sleep(0.3)

    def rules(self) -> dict[str, str]:
        """How each alert fared when it was last evaluated."""
        groups = self.ask("rules")["groups"]
        return {rule["name"]: rule["health"] for group in groups for rule in group["rules"]}


@contextmanager
def prometheus(folder: Path, upstream: int, key_file: Path) -> Iterator[Prometheus]:
    """Reads the server on this port every second, with the key of a file."""
    program, port = need("prometheus"), free_port()
    config = (DEPLOY / "prometheus.yml").read_text(encoding="utf-8")
    for ours, here in {
        "scrape_interval: 10s": "scrape_interval: 1s\n  evaluation_interval: 1s",
        "/etc/prometheus/turia-key": str(key_file),
        "- alerts.yml": f"- {DEPLOY / 'alerts.yml'}",
        "127.0.0.1:8000": f"127.0.0.1:{upstream}",
    }.items():
        assert ours in config, ours
        config = config.replace(ours, here)
    (folder / "prometheus.yml").write_text(config)
    command = [program, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'figures'}"]
    with running([*command, f"--web.listen-address=127.0.0.1:{port}"], port, folder):
        yield Prometheus(f"http://127.0.0.1:{port}")
