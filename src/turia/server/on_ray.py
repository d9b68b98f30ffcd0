"""`turia serve --ray`: the same app, many times, on Ray Serve.

A replica is a whole server on one core (or GPU): app, sockets, and the thread that translates. Ray's proxies, one on
each node, take connections and hand each to a replica with few; all replicas share one Redis. A replica, or its node,
may die at any moment: its speakers reconnect through a proxy, and another replica claims their sessions.

Rules: replicas are begun and ended by how many streams are open (`wanted_replicas`). A replica that Ray takes away is
no longer asked for its health; it notices, says going-away to all its connections, and ends when they have gone.
`examples/serve.yaml` is this for `serve deploy`; `build` reads its `args`.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ray
from fastapi import FastAPI
from ray import serve
from ray.exceptions import RayError
from ray.serve import Application
from ray.serve.config import AutoscalingConfig, AutoscalingContext, AutoscalingPolicy, HTTPOptions
from ray.serve.context import _get_global_client
from ray.serve.exceptions import RayServeException

from turia.errors import ConfigError, InputError
from turia.runtime.kernels import Kernels
from turia.schema import Natural, Positive, from_dict
from turia.server.access import Keys
from turia.server.addresses import Addresses, url_of
from turia.server.app import Access, make_app
from turia.server.choices import Translators
from turia.server.glossaries import follow_glossaries, parse_tables
from turia.server.limits import Limits
from turia.server.pages import Pages
from turia.server.rooms import parse_room
from turia.server.serve import check_origins, listen, read_keys, refuse_strangers
from turia.server.stores.base import JOURNAL
from turia.server.stores.redis import RedisStore
from turia.server.stores.redis_cluster import RedisCluster
from turia.system.onnx import CPU, GPU
from turia.system.signals import StopRequests

APP = "turia"
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_SERVE_PROXY_PREFER_LOCAL_NODE_ROUTING": "0",
    "RAY_agent_register_timeout_ms": "120000",
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
}
"""Environment of Ray. No usage statistics are sent. A proxy hands connections to all replicas, not first to those of
its own node. On a busy machine a node has two minutes to start and a proxy one (Ray kills it after five seconds
otherwise).
On a cluster, `ray start` must have it."""
STARTING = {"RAY_gcs_server_port_wait_time_s": "120"}
"""What a machine that starts a cluster has besides: two minutes for its first service, too. It is also how often Ray
tries to join a cluster, up to a minute each time: nobody is to wait so long for an address that is wrong."""
HEALTH_SECONDS = 2.0
UNASKED_SECONDS = 3 * HEALTH_SECONDS
"""A replica that was not asked for its health for so long is not wanted any more."""
GRACE_SECONDS = 60.0
"""From then on until Ray kills it."""
SHARE = 0.7
"""Of their capacity that replicas have in use: the rest is for those who come while another replica starts."""
OBJECT_STORE, DATA_STORE = 80 * 2**20, 400 * 2**20
"""Bytes for Ray's objects: a server keeps none, and Ray does not take less; corpora pass through."""


@dataclass(frozen=True)
class Deployed:
    """What is deployed: the `args` of a Serve config file."""

    store: str
    """The Redis of all replicas: redis://HOST:PORT/0."""
    models: tuple[str, ...] = ()
    """Names or folders, the same on every node; all that came with the package if there are none."""
    streams: Positive = Limits.streams
    """Streams of a replica; benchmarks/server_load.py measures what one core holds."""
    history: Natural | None = None
    beam: Positive | None = None
    policy: str | None = None
    """Of new streams; each model's own without."""
    glossaries: tuple[str, ...] = ()
    """Tables of terms, [MODEL=]FILE; the same files on every node."""
    audience: Natural = 50
    """Viewers of a stream, in the mean."""
    least: Positive = 1
    most: Positive = 1
    """Replicas."""
    cores: float = 1.0
    gpus: float = 0.0
    kernels: Kernels | None = None
    """What computes: native, onnx or auto; what the variable TURIA_KERNELS of a node says without."""
    key_file: Path | None = None
    """API keys, one a line; the same file on every node."""
    operator_key_file: Path | None = None
    """Keys with which any session may be deleted."""
    without_keys: bool = False
    """Everybody who reaches the proxies may begin sessions: for addresses that only you can reach."""
    origins: tuple[str, ...] = ()
    pages: Pages = field(default_factory=Pages)
    """The notice, its position, and who may embed the pages."""
    rooms: tuple[str, ...] = ()
    """Rooms that are to be there: main-hall=Main hall."""
    public_url: str | None = None
    """Where others reach the proxies, for links."""
    journal: Positive = JOURNAL
    """Events of a session that Redis keeps."""
    limits: Limits = field(default_factory=Limits)
    """All other limits: streams, those of a key, and sockets follow from `streams` and `audience`."""

    def all_limits(self) -> Limits:
        sockets = self.streams * (1 + self.audience)
        return replace(self.limits, streams=self.streams, streams_per_key=self.streams, sockets=sockets)


Load = Callable[[Deployed], Translators]


def load_models(deployed: Deployed) -> Translators:
    """The translators of a replica; on a GPU if it has one."""
    from turia.runtime.home import packaged_models
    from turia.runtime.translator import Translator

    names = deployed.models or packaged_models() or ("de-en",)
    providers = GPU if deployed.gpus else CPU
    loaded = [
        Translator.load(
            name,
            providers=providers,
            streams=deployed.streams,
            history=deployed.history,
            beam=deployed.beam,
            policy=deployed.policy,
            kernels=deployed.kernels,
        )
        for name in names
    ]
    translators = {translator.model.name: translator for translator in loaded}
    follow_glossaries(translators, parse_tables(deployed.glossaries))
    return translators


@serve.ingress()
class Replica:
    """One server among many."""

    def __init__(self, deployed: Deployed, load: Load) -> None:
        self._deployed = deployed
        self._translators = load(deployed)
        self._asked = time.monotonic()
        self._watching: asyncio.Task[None] | None = None
        self._drains = False
        self._app: FastAPI

    def __serve_build_asgi_app__(self) -> FastAPI:
        """Called by Serve once the constructor is done."""
        deployed, limits = self._deployed, self._deployed.all_limits()
        store = RedisStore(deployed.store, journal=deployed.journal, keep=limits.keep, ticket_seconds=limits.ticket)
        operators = Keys(read_keys(deployed.operator_key_file))
        access = Access(Keys(read_keys(deployed.key_file)), deployed.origins, operators, deployed.key_file)
        rooms, addresses = tuple(map(parse_room, deployed.rooms)), Addresses(public_url=deployed.public_url)
        self._app = make_app(
            self._translators,
            store,
            limits,
            access,
            RedisCluster(store.client),
            False,
            deployed.pages,
            rooms,
            addresses,
        )
        return self._app

    async def check_health(self) -> None:
        """Asked by Serve every few seconds, for as long as the replica is wanted."""
        self._asked = time.monotonic()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        if self._drains:
            # It took silence for a farewell. It takes no more streams: another replica must.
            raise RuntimeError("this replica has said farewell")

    def record_autoscaling_stats(self) -> dict[str, float]:
        """For `wanted_replicas`."""
        member = self._app.state.manager.occupancy.member()
        return {"streams": max(member.streams, member.work), "capacity": self._deployed.streams}

    async def _watch(self) -> None:
        """Waits until the replica is not wanted any more; then sends all its clients to another."""
        while True:
            await asyncio.sleep(HEALTH_SECONDS / 2)
            if time.monotonic() - self._asked < UNASKED_SECONDS:
                continue
            # Perhaps it is Serve's controller that died: then we go on, and a new one will ask.
            before = self._asked
            try:
                await asyncio.wait_for(asyncio.to_thread(serve.status), 2 * HEALTH_SECONDS)
            except (TimeoutError, RayError, RayServeException):
                continue
            if self._asked == before:
                self._drains = True
                await self._app.state.manager.drain()
                return


def wanted_replicas(ctx: AutoscalingContext) -> tuple[int | float, dict[str, Any]]:
    """Replicas for the streams that are open, with room for those to come."""
    metrics = ctx.aggregated_metrics or {}
    streams, capacities = metrics.get("streams", {}), metrics.get("capacity", {})
    if not capacities:
        return ctx.target_num_replicas, {}
    return replicas_for(sum(streams.values()), max(capacities.values())), {}


def replicas_for(streams: float, capacity: float) -> int:
    """So many that the streams use `SHARE` of them."""
    return max(1, math.ceil(streams / (SHARE * capacity) - 1e-9))


def application(deployed: Deployed, load: Load = load_models) -> Application:
    """The Serve application."""
    limits = deployed.all_limits()
    # The types of Ray see a decorator alone.
    deployment: Any = serve.deployment(
        Replica,
        name="replica",
        # Every connection is a request that goes on; the manager refuses before Serve would let anybody wait.
        max_ongoing_requests=limits.sockets + deployed.streams,
        autoscaling_config=AutoscalingConfig(
            min_replicas=deployed.least,
            initial_replicas=deployed.least,
            max_replicas=max(deployed.least, deployed.most),
            policy=AutoscalingPolicy(policy_function=wanted_replicas),
            upscale_delay_s=5.0,
            downscale_delay_s=300.0,
            metrics_interval_s=2.0,
            look_back_period_s=10.0,
        ),
        health_check_period_s=HEALTH_SECONDS,
        graceful_shutdown_timeout_s=GRACE_SECONDS,
        graceful_shutdown_wait_loop_s=1.0,
        ray_actor_options={"num_cpus": deployed.cores, "num_gpus": deployed.gpus},
    )
    # To Serve, what is deployed again is new: it replaces replicas one after another, with new models and keys.
    bound: Application = deployment.bind(deployed, load)
    return bound


def build(args: dict[str, Any]) -> Application:
    """For a Serve config file: `import_path: turia.server.on_ray:build`."""
    deployed = from_dict(Deployed, args)
    check_origins(deployed.origins)
    check_origins(deployed.pages.frame_ancestors)
    for room in deployed.rooms:
        parse_room(room)
    if taken := {"streams", "streams_per_key", "streams_a_key", "sockets"} & set(args.get("limits", {})):
        raise ConfigError(f"limits.{min(taken)} follows from `streams` and `audience` of the args; leave it out")
    if deployed.key_file is None and not deployed.without_keys:
        # It is not known here on which addresses the proxies listen.
        raise ConfigError(
            "args have no key_file: give one, or say `without_keys: true` if nobody else reaches the proxies"
        )
    return application(deployed)


def serve_on_ray(deployed: Deployed, host: str, port: int) -> None:
    """Deploys on the cluster of RAY_ADDRESS, or else on this machine; serves until a signal stops it."""
    keyed = bool(read_keys(deployed.key_file))
    refuse_strangers(host, keyed, "or use 127.0.0.1")
    RedisStore(deployed.store).close()
    if port == 0 or "RAY_ADDRESS" not in os.environ:
        # On a cluster the proxies may be running there already.
        with listen(host, port) as probe:
            port = probe.getsockname()[1]
    begin_ray()
    try:
        serve.start(proxy_location="EveryNode", http_options=HTTPOptions(host=host, port=port))
        # On a cluster where Serve runs already, its proxies stay where they are, whatever was asked for.
        host, port = proxies_at()
        refuse_strangers(host, keyed, "or restart the Ray Serve that runs there with another host")
        serve.run(application(deployed), name=APP, route_prefix="/")
        stop = StopRequests()
        with stop.noted():
            print(f"Turia is at {url_of(host, port)}  (Ctrl-C ends it)", flush=True)
            stop.wait()
        serve.delete(APP)
        if "RAY_ADDRESS" not in os.environ:
            serve.shutdown()
    finally:
        ray.shutdown()


def proxies_at() -> tuple[str, int]:
    """Host and port of the proxies of the Serve that runs. No public function of Ray says so; a REST call does, where
    there is a dashboard."""
    client = _get_global_client()
    assert client is not None  # it raises where no Serve runs
    options = client.http_config
    if options.host is None:
        raise InputError("Ray Serve runs without HTTP on this cluster; start it with http_options that have a host")
    return options.host, options.port


def begin_ray(object_store: int = OBJECT_STORE) -> None:
    """Joins the cluster of RAY_ADDRESS, or begins one on this machine, which sends nothing to anybody."""
    os.environ |= SETTINGS
    if "RAY_ADDRESS" in os.environ:
        ray.init(log_to_driver=False)
    else:
        os.environ |= STARTING
        ray.init(address="local", include_dashboard=False, object_store_memory=object_store, log_to_driver=False)
