"""Members and sums in Redis.

    turia:{cluster}:names        set of the members' names
    turia:{cluster}:member:NAME  JSON of `Member`, perhaps of a newer release with more keys; expires unless it is
                                 announced again
    turia:{cluster}:counts       hash: sums of what members have counted
    turia:{cluster}:handed:NAME  number of the last differences that a member handed in; expires after a day

Nothing here is worth waiting for: if Redis is away, that is an error at once, and the next announcement tries again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turia.schema import from_dict, read_json, to_dict, write_json
from turia.server.cluster import Member
from turia.server.stores.redis_requests import RedisRequests, answered

MEMBER_SECONDS = 5.0
HANDED_SECONDS = 86_400
NAMES, COUNTS = "turia:{cluster}:names", "turia:{cluster}:counts"
COUNT = """
local number, keep = ARGV[1], ARGV[2]
if tonumber(redis.call('GET', KEYS[2]) or 0) >= tonumber(number) then return 0 end
for i = 3, #ARGV, 2 do redis.call('HINCRBYFLOAT', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('SET', KEYS[2], number, 'EX', keep)
return 1
"""


class RedisCluster:
    """The cluster of all servers that use one Redis; `client` decodes responses."""

    def __init__(self, client: Any, seconds: float = MEMBER_SECONDS) -> None:
        self._client, self._milliseconds = client, int(1000 * seconds)
        self._count = client.register_script(COUNT)
        self.requests = RedisRequests(client)

    def announce(self, member: Member) -> None:
        with answered(), self._client.pipeline() as pipe:
            pipe.sadd(NAMES, member.name)
            pipe.set(_key(member.name), write_json(to_dict(member)), px=self._milliseconds)
            pipe.execute()

    def leave(self, name: str) -> None:
        with answered(), self._client.pipeline() as pipe:
            pipe.srem(NAMES, name)
            pipe.delete(_key(name))
            pipe.execute()

    def members(self) -> list[Member]:
        with answered():
            names = sorted(self._client.smembers(NAMES))
            texts = self._client.mget([_key(name) for name in names]) if names else []
            gone = [name for name, text in zip(names, texts, strict=True) if text is None]
            if gone:
                self._client.srem(NAMES, *gone)
        return [_member(text) for text in texts if text is not None]

    def count(self, name: str, number: int, differences: Mapping[str, float]) -> None:
        flat = [part for pair in differences.items() for part in pair]
        with answered():
            self._count([COUNTS, f"turia:{{cluster}}:handed:{name}"], [number, HANDED_SECONDS, *flat])

    def counted(self) -> dict[str, float]:
        with answered():
            return {name: float(value) for name, value in self._client.hgetall(COUNTS).items()}


def _member(text: str) -> Member:
    return from_dict(Member, read_json(text), pass_over=True)


def _key(name: str) -> str:
    return f"turia:{{cluster}}:member:{name}"
