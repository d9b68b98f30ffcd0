"""Servers that share a Redis know of each other, and add up what they count."""

from __future__ import annotations

import json
import time

from tests.server.redises import RedisServer
from turia.server.cluster import Member, totals
from turia.server.stores.redis import RedisStore
from turia.server.stores.redis_cluster import RedisCluster


def test_a_member_of_a_newer_release_may_have_more_keys(redis_server: RedisServer) -> None:
    redis_server.clear()
    store = RedisStore(redis_server.url)
    cluster, member = RedisCluster(store.client, seconds=600), Member("one", True, 3, 8, 2, {"a": 3})
    cluster.announce(member)
    said = json.loads(store.client.get("turia:{cluster}:member:one"))
    store.client.set("turia:{cluster}:member:one", json.dumps(said | {"zone": "b"}))
    assert cluster.members() == [member]
    store.close()


def test_members_are_there_while_they_say_so(redis_server: RedisServer) -> None:
    redis_server.clear()
    store = RedisStore(redis_server.url)
    cluster, short = RedisCluster(store.client, seconds=600), RedisCluster(store.client, seconds=0.05)
    one = Member("one", True, 3, 8, 2, {"a": 3})
    cluster.announce(one)
    cluster.announce(Member("two", False, 1, 8, 1, {"a": 1}))
    short.announce(Member("three", True, 5, 8, 0, {"b": 5}))
    while len(members := cluster.members()) > 2:
        time.sleep(0.01)
    assert one in members
    together = totals(members)
    assert (together.members, together.streams, together.capacity, together.viewers) == (1, 3, 8, 3)
    assert together.owners["a"] == 3
    assert not together.full
    cluster.leave("one")
    assert [member.name for member in cluster.members()] == ["two"]
    assert totals(cluster.members()).full
    cluster.count("one", 1, {"x": 1.5, "y": 2})
    cluster.count("two", 1, {"x": 1})
    # Once more, because the answer was lost; and one that a stalled Redis took late.
    cluster.count("two", 1, {"x": 1})
    cluster.count("two", 2, {})
    cluster.count("two", 1, {"x": 1})
    assert cluster.counted() == {"x": 2.5, "y": 2.0}
    store.close()
