"""Sessions in Redis: the store that many servers share, so that a stream outlives the machine that translates it.

    turia:{ID}:session   hash: what `StoredSession` has, and the last turn that was given (`turn`)
    turia:{ID}:events    stream: entry N-0 is event N, the field `e` its text; trimmed to about `journal` entries
    turia:rooms          hash: the text of each room, by its name; it does not expire
    turia:ticket:HASH    the value of a ticket, until it is used or too old

The braces keep the two keys of a session on one node of a Redis Cluster. Each change is one script, so it happens
whole or not at all. Keys of sessions expire by themselves, `keep` seconds after the last change.

Redis must write an append-only file, with `appendfsync always`, and must not evict: otherwise it would lose, or drop,
what was acknowledged. (With `everysec` it answers before it writes, while an earlier write is on its way to the disk:
a `kill -9` of Redis then costs up to two seconds, as a test of ours found out.)
While Redis does not answer, or takes nothing (full, read-only), calls wait and try again for `patience` seconds; then
they raise StoreError.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError
from redis.retry import Retry

from turia.errors import InputError, ResourceError
from turia.schema import JsonObject, to_dict, write_json
from turia.server.access import hash_secret, new_secret
from turia.server.limits import Limits
from turia.server.progress import Progress
from turia.server.stores.base import (
    JOURNAL,
    DamagedError,
    SessionOwner,
    SessionStatus,
    SessionUpdate,
    StoredRoom,
    StoredSession,
    StoreError,
    read_events,
    read_room,
)

T = TypeVar("T")
PATIENCE = 5.0
ANSWER_SECONDS = 2.0
"""Time for one answer, before the question is asked again."""
PAUSE = 0.1
ROOMS_KEY = "turia:rooms"
REFUSALS = (AuthenticationError, AuthorizationError, NoPermissionError)
"""Another password or other rights: waiting does not help."""
log = logging.getLogger("turia.server")

CREATE = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 2, 21))
for i = 22, #ARGV do redis.call('XADD', KEYS[2], string.format('%.0f-0', i - 21), 'e', ARGV[i]) end
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[1])
return 1
"""
NEXT_TURN = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSETNX', KEYS[1], 'turn', redis.call('HGET', KEYS[1], 'token'))
return redis.call('HINCRBY', KEYS[1], 'turn', 1)
"""
CLAIM = """
if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
if tonumber(redis.call('HGET', KEYS[1], 'token')) < tonumber(ARGV[1]) then
    redis.call('HSET', KEYS[1], 'token', ARGV[1])
end
return redis.call('HGETALL', KEYS[1])
"""
ADVANCE = """
local token, inputs_before, inputs, events_before = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local ended, state, touched, keep, journal = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local after = string.format('%.0f', tonumber(events_before) + #ARGV - 9)
local at = redis.call('HMGET', KEYS[1], 'token', 'inputs', 'events')
if at[1] ~= token then return 0 end
if at[2] == inputs and at[3] == after then return 1 end
if at[2] ~= inputs_before or at[3] ~= events_before then return 0 end
redis.call('HSET', KEYS[1], 'inputs', inputs, 'events', after, 'ended', ended, 'state', state, 'touched', touched)
for i = 10, #ARGV do
    local id = string.format('%.0f-0', tonumber(events_before) + i - 9)
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', journal, id, 'e', ARGV[i])
end
redis.call('EXPIRE', KEYS[1], keep)
redis.call('EXPIRE', KEYS[2], keep)
return 1
"""


class RedisStore:
    """Sessions in the Redis at `url` (redis://, rediss:// or unix://)."""

    def __init__(
        self,
        url: str,
        *,
        journal: int = JOURNAL,
        keep: float = Limits.keep,
        ticket_seconds: float = Limits.ticket,
        patience: float = PATIENCE,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._journal, self._keep, self._ticket_seconds = journal, int(keep), ticket_seconds
        self.patience = patience
        try:
            # Trying again is done here, where it is known what may be asked twice.
            # Its types do not know of decode_responses.
            self.client: Any = redis.Redis.from_url(
                url,
                decode_responses=True,
                socket_timeout=answer_seconds,
                socket_connect_timeout=answer_seconds,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError as error:
            raise InputError(f"--store is no address of a Redis (redis://HOST:PORT/0): {error}") from error
        scripts = map(self.client.register_script, (CREATE, NEXT_TURN, CLAIM, ADVANCE))
        self._create, self._next_turn, self._claim, self._advance = scripts
        self._check()

    def _check(self) -> None:
        """A Redis that may lose what was acknowledged is refused before anybody trusts it."""
        info: dict[str, Any] = self.ask(self.client.info)
        if info["aof_enabled"] != 1:
            raise ResourceError("the Redis of --store keeps no append-only file; set `appendonly yes`")
        fsync = self.ask(self._fsync)
        if fsync is None:
            log.warning("the Redis of --store does not show its settings; it must have `appendfsync always`")
        elif fsync != "always":
            raise ResourceError(f"the Redis of --store has `appendfsync {fsync}`; set `appendfsync always`")
        if info["maxmemory_policy"] != "noeviction":
            raise ResourceError(
                f"the Redis of --store evicts keys ({info['maxmemory_policy']}); set `maxmemory-policy noeviction`"
            )

    def _fsync(self) -> str | None:
        """None where a Redis does not show its settings: asking again would not help."""
        try:
            value: str = self.client.config_get("appendfsync")["appendfsync"]
        except redis.ResponseError:
            return None
        return value

    def ask(self, question: Callable[[], T]) -> T:
        """The answer to something that may be asked twice; waits for a Redis that is away, loading or full."""
        until = time.monotonic() + self.patience
        while True:
            try:
                return question()
            except REFUSALS as error:
                log.error("the Redis of --store refuses this server: %s", type(error).__name__)
                raise StoreError("the store of sessions refuses this server; its operator must mend --store") from error
            except redis.RedisError as error:
                if time.monotonic() + PAUSE > until:
                    # Its text may hold what was said; its kind does not.
                    log.warning("the store of sessions does not answer: %s", type(error).__name__)
                    raise StoreError("the store of sessions does not answer; try again soon") from error
                time.sleep(PAUSE)

    def create(self, session: StoredSession, events: Sequence[JsonObject]) -> None:
        at = session.progress
        assert at.events == len(events)
        fields: dict[str, str | int | float] = {
            "id": session.id,
            "owner": session.owner,
            "secret_hash": session.secret_hash,
            "began": session.began,
            "touched": session.touched,
            "inputs": at.inputs,
            "events": at.events,
            "ended": int(at.ended),
            "state": session.state,
            "token": session.token,
        }
        flat = [part for name, value in fields.items() for part in (name, str(value))]
        self.ask(lambda: self._create(_keys(session.id), [str(self._keep), *flat, *map(write_json, events)]))

    def load(self, session_id: str) -> StoredSession | None:
        return _session(self.ask(lambda: self.client.hgetall(_keys(session_id)[0])))

    def whose(self, session_id: str) -> SessionOwner | None:
        owner, secret_hash = self.ask(lambda: self.client.hmget(_keys(session_id)[0], ["owner", "secret_hash"]))
        return None if owner is None or secret_hash is None else SessionOwner(owner, secret_hash)

    def followers(self, session_id: str) -> list[str]:
        """Looks at all keys, a portion at a time: only for sessions that are damaged."""
        found: list[str] = self.ask(lambda: list(self.client.scan_iter("turia:{*}:session", count=1000)))
        names = {key.removeprefix("turia:{").removesuffix("}:session") for key in found}
        return sorted(name for name in names if name.startswith(f"{session_id}."))

    def next_turn(self, session_id: str) -> int:
        return int(self.ask(lambda: self._next_turn(_keys(session_id))))

    def claim(self, session_id: str, turn: int) -> StoredSession | None:
        flat = self.ask(lambda: self._claim(_keys(session_id), [turn]))
        return _session(flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2], strict=True)))

    def advance(self, updates: Sequence[SessionUpdate]) -> list[bool]:
        return [taken == 1 for taken in self.ask(lambda: self._advance_all(updates))] if updates else []

    def _advance_all(self, updates: Sequence[SessionUpdate]) -> list[Any]:
        with self.client.pipeline(transaction=False) as pipe:
            for update in updates:
                before, after = update.before, update.after
                numbers = (update.token, before.inputs, after.inputs, before.events, int(after.ended))
                rest = (update.state, update.touched, self._keep, self._journal)
                arguments: list[str | float] = [*numbers, *rest, *map(write_json, update.events)]
                self._advance(_keys(update.session_id), arguments, client=pipe)
            return list(pipe.execute())

    def events(self, session_id: str, after: int, most: int) -> tuple[int, list[JsonObject]]:
        entries = self.ask(lambda: self.client.xrange(_keys(session_id)[1], f"({after}-0", "+", count=most))
        first = int(entries[0][0].partition("-")[0]) if entries else after + 1
        return first, read_events(fields["e"] for _, fields in entries)

    def statuses(self, session_ids: Sequence[str]) -> list[SessionStatus | None]:
        return self.ask(lambda: self._statuses(session_ids)) if session_ids else []

    def _statuses(self, session_ids: Sequence[str]) -> list[SessionStatus | None]:
        with self.client.pipeline(transaction=False) as pipe:
            for session_id in session_ids:
                pipe.hmget(_keys(session_id)[0], ["inputs", "events", "ended", "token"])
            rows = pipe.execute()
        return [None if row[0] is None else SessionStatus(_progress(*row[:3]), int(row[3])) for row in rows]

    def issue_ticket(self, value: str) -> str:
        ticket = new_secret()
        self.ask(lambda: self.client.set(_ticket_key(ticket), value, px=int(1000 * self._ticket_seconds)))
        return ticket

    def use_ticket(self, ticket: str) -> str | None:
        """Asked once: if the answer is lost, nobody knows whether the ticket was used."""
        try:
            value: str | None = self.client.getdel(_ticket_key(ticket))
        except redis.RedisError as error:
            raise StoreError("the store of sessions does not answer; ask for another ticket") from error
        return value

    def delete(self, session_id: str) -> bool:
        return bool(self.ask(lambda: self.client.delete(*_keys(session_id))))

    def rooms(self) -> list[StoredRoom]:
        found: dict[str, str] = self.ask(lambda: self.client.hgetall(ROOMS_KEY))
        return [read_room(found[name]) for name in sorted(found)]

    def put_room(self, room: StoredRoom) -> None:
        self.ask(lambda: self.client.hset(ROOMS_KEY, room.name, write_json(to_dict(room))))

    def delete_room(self, name: str) -> bool:
        return bool(self.ask(lambda: self.client.hdel(ROOMS_KEY, name)))

    def forget(self, untouched_since: float) -> int:
        """Redis forgets by itself."""
        return 0

    def check(self, write: bool) -> None:
        """A Redis that is full, or a copy that is only read, takes no key either."""
        if write:
            self.ask(lambda: self.client.set("turia:check", "1", ex=60))

    def close(self) -> None:
        self.client.close()


def _keys(session_id: str) -> list[str]:
    return [f"turia:{{{session_id}}}:session", f"turia:{{{session_id}}}:events"]


def _ticket_key(ticket: str) -> str:
    return f"turia:ticket:{hash_secret(ticket)}"


def _session(fields: dict[str, str]) -> StoredSession | None:
    if not fields:
        return None
    try:
        return StoredSession(
            fields["id"],
            fields["owner"],
            fields["secret_hash"],
            float(fields["began"]),
            float(fields["touched"]),
            _progress(fields["inputs"], fields["events"], fields["ended"]),
            fields["state"],
            int(fields["token"]),
        )
    except (KeyError, ValueError):
        raise DamagedError from None


def _progress(inputs: str, events: str, ended: str) -> Progress:
    return Progress(int(inputs), int(events), ended == "1")
