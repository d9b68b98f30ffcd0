"""The files of deploy/ are what their programs take, agree with each other, and name what Turia has."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from tests.proxies import DEPLOY, need
from tests.server.servers import ROOT, free_port
from turia.cli import app
from turia.server.audio import Ears, Recognition
from turia.server.cluster import Totals
from turia.server.metrics import Metrics
from turia.server.stores.base import StoreError
from turia.server.stores.redis import RedisStore

UNIT = (DEPLOY / "turia.service").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))
ALERTS: dict[str, Any] = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))


def instructions(path: Path = DEPLOY / "Dockerfile") -> list[tuple[str, str]]:
    """What a Dockerfile does, line by line, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", path.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def of(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def takes(command: list[str]) -> None:
    """That `turia` takes these arguments; nothing is run."""
    name, *arguments = command
    parser = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    parser.make_context(name, list(arguments), resilient_parsing=False)


def test_the_dockerfile_passes_the_linter() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip("hadolint is not installed (the dev extra has it)")
    result = subprocess.run([linter, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_the_image_runs_as_nobody_special_and_is_healthy_when_it_is_ready() -> None:
    assert of("USER") == ["10001"]
    assert "--uid 10001" in of("RUN")[-1]
    assert "/readyz" in of("HEALTHCHECK")[0]
    assert all("slim" in image for image in of("FROM"))
    [command], [entrypoint] = of("CMD"), of("ENTRYPOINT")
    assert json.loads(entrypoint) == ["turia"]
    takes(json.loads(command))


def test_the_builder_is_sent_what_the_dockerfile_copies() -> None:
    sent = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [path for line in of("COPY") if "--from" not in line for path in line.split()[:-1]]
    assert {f"!{path}" for path in copied} == {line for line in sent if line.startswith("!")}
    assert all((ROOT / path).exists() for path in copied)


def test_the_services_of_compose_fit_together() -> None:
    redis, turia, caddy = (COMPOSE["services"][name] for name in ("redis", "turia", "caddy"))
    takes(turia["command"])
    for setting in ("--requirepass", "--appendonly yes", "--appendfsync always", "--maxmemory-policy noeviction"):
        assert setting in redis["command"]
    assert "ports" not in redis
    assert "ports" not in turia, "it is reached through Caddy alone"
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert turia["environment"]["TURIA_STORE"] == "redis://:${REDIS_PASSWORD}@redis:6379/0"
    assert (turia["read_only"], turia["cap_drop"]) == (True, ["ALL"])
    assert turia["build"]["dockerfile"] == "deploy/Dockerfile"
    for mounted in caddy["volumes"]:
        assert not mounted.startswith(".") or (DEPLOY / mounted.split(":")[0]).exists()
    placeholders = set(re.findall(r"\{\$(\w+)", (DEPLOY / "Caddyfile").read_text(encoding="utf-8")))
    assert placeholders == caddy["environment"].keys()


def test_the_redis_of_compose_wants_its_password_and_is_one_that_turia_takes(tmp_path: Path) -> None:
    need("redis-server")
    port, password = free_port(), "a-long-random-word"
    *shell, line = shlex.split(COMPOSE["services"]["redis"]["command"].replace("$$", "$"))
    command = [*shell, f"{line} --port {port} --dir {tmp_path} --bind 127.0.0.1"]
    environment = os.environ | {"REDIS_PASSWORD": password}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as server:
        try:
            # It is waited for until it has begun.
            RedisStore(f"redis://:{password}@127.0.0.1:{port}/0", patience=60.0).close()
            with pytest.raises(StoreError, match="refuses this server"):
                RedisStore(f"redis://127.0.0.1:{port}/0")
        finally:
            server.terminate()


def test_the_unit_passes_systemds_check_and_is_shut_in(tmp_path: Path) -> None:
    analyze = need("systemd-analyze")
    program = shutil.which("true") or "/bin/true"
    (tmp_path / "turia.service").write_text(UNIT.replace("/opt/turia/bin/turia", program))
    verify = [analyze, "verify", "--man=no", str(tmp_path / "turia.service")]
    result = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    judge = [analyze, "security", "--offline=yes", "--no-pager", str(tmp_path / "turia.service")]
    judged = subprocess.run(judge, capture_output=True, text=True, check=False)
    [exposure] = re.findall(r"exposure level for turia\.service: ([\d.]+)", judged.stdout)
    assert float(exposure) < 2.5
    assert "ProcSubset=pid\n" not in UNIT, "ONNX Runtime chooses its kernels by /proc/cpuinfo"


def test_the_unit_starts_what_turia_takes() -> None:
    [line] = re.findall(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
    program, *arguments = shlex.split(line)
    assert program == "/opt/turia/bin/turia"
    takes([argument for argument in arguments if argument != "$TURIA_OPTIONS"])
    assert "--data" not in arguments, "turia.env may have TURIA_STORE, and the two are refused together"
    assert "StateDirectory=turia\n" in UNIT
    assert "Environment=XDG_STATE_HOME=/var/lib\n" in UNIT
    stops = int(re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)[0])
    assert stops > 2 * 10, "a drain takes ten seconds, and a worker may be in a round"


def real_names() -> set[str]:
    """Of the metrics of one server and of several."""
    metrics = Metrics()
    metrics.refused("capacity")
    together = metrics.cluster_text(metrics.counts(), Totals(1, 0, 1, 0, Counter()))
    pages = [page.decode() for page in (metrics.text(), together)]
    first, second = (
        {line.split("{")[0].split()[0] for line in re.findall(r"^turia_.*$", page, re.M)} for page in pages
    )
    # Those of one alone are no ground for a dashboard.
    return first & second


@functools.cache
def speech_names() -> set[str]:
    """Of the metrics of a server that recognises speech."""
    registry = CollectorRegistry()

    async def listen() -> None:
        Ears(Recognition({}, most=1), registry)

    asyncio.run(listen())
    page = generate_latest(registry).decode()
    return {line.split("{")[0].split()[0] for line in re.findall(r"^turia_.*$", page, re.M)}


SPEECH_PANELS = ("Speech recognised here", "From sound to caption")
"""Those that are empty without a recogniser."""


def queries(speech: bool = True) -> list[str]:
    shown = [panel for panel in DASHBOARD["panels"] if speech or panel["title"] not in SPEECH_PANELS]
    panels = [target["expr"] for panel in shown for target in panel["targets"]]
    variables = [item["definition"] for item in DASHBOARD["templating"]["list"] if item["type"] == "query"]
    return panels + variables + [rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("query", queries())
def test_the_dashboard_and_the_alerts_ask_for_metrics_that_exist(query: str) -> None:
    names = set(re.findall(r"\bturia_\w+", query))
    assert names <= real_names() | speech_names()
    assert names or query.startswith("up{")
    assert query.count("(") == query.count(")")


def test_the_dashboard_shows_every_metric() -> None:
    shown = {name for query in queries() for name in re.findall(r"\bturia_\w+", query)}
    kept = {name for name in real_names() | speech_names() if not name.endswith(("_created", "_sum", "_count"))}
    assert kept - shown == set()


def test_panels_do_not_overlap() -> None:
    places: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places, panel["title"]
        assert at["x"] + at["w"] <= 24
        places |= cells
