"""Ray clusters for tests: nodes of one core each, on this machine, with nothing left behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.server.servers import ENVIRONMENT, free_port

ATTEMPTS = 4


@dataclass(frozen=True)
class Nodes:
    """A running cluster, and its nodes other than the head."""

    cluster: Any
    others: list[Any]

    def kill(self, node: Any) -> None:
        self.cluster.remove_node(node, allow_graceful=False)


@contextmanager
def ray_nodes(count: int) -> Iterator[Nodes]:
    """`count` nodes; this process is connected to them, and their workers can import the tests."""
    # As in an install of Ray without its dashboard: agents start quicker, and a raylet that waits for them gives up
    # after 15 seconds (ray-project/ray issue 65983).
    sys.modules["ray.dashboard.optional_deps"] = None  # type: ignore[assignment]
    import ray

    from turia.server.on_ray import SETTINGS, STARTING

    os.environ |= {"PYTHONPATH": ENVIRONMENT["PYTHONPATH"], **SETTINGS, **STARTING}
    nodes = _begin(count)
    try:
        yield nodes
    finally:
        ray.shutdown()
        nodes.cluster.shutdown()


def _begin(count: int) -> Nodes:
    """A cluster that this process is connected to. On a very busy machine those 15 seconds may pass all the same: then
    it begins anew."""
    import ray
    from ray.cluster_utils import Cluster

    for attempts_left in reversed(range(ATTEMPTS)):
        cluster = Cluster()
        try:
            # The first is the head.
            nodes = [cluster.add_node(**_node()) for _ in range(count)]
            ray.init(address=cluster.address, log_to_driver=False)
            return Nodes(cluster, nodes[1:])
        except Exception:
            ray.shutdown()
            cluster.shutdown()
            if not attempts_left:
                raise
    raise AssertionError


def _node() -> dict[str, Any]:
    """A node's options. Where ports are given, its raylet need not wait for agents to choose them."""
    chosen = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    ports = {name: free_port() for name in chosen}
    return {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False} | ports
