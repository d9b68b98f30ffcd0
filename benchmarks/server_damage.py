"""Stores that break, servers that stop, requests that are odd: what happens to the words that were said.

The attacks 6 to 16 of docs/security.md at full size: `python -m benchmarks.server_faults NAME`. The same is done at a
small size in tests/server/test_hostile.py, test_serve.py, test_access.py, test_rest.py and stores/test_sqlite.py.
"""

from __future__ import annotations

import collections
import contextlib
import http.client
import json
import random
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.server.raw import connection
from tests.server.servers import ENVIRONMENT, ROOT, FakeServer, free_port
from tests.server.stores.test_base import STORED
from tests.server.test_app import begin, receive, send
from tests.server.test_hostile import JSON, POST, SECRET, spoken
from turia.errors import ResourceError
from turia.server.progress import Progress
from turia.server.stores.base import DamagedError, StoreError
from turia.server.stores.sqlite import SqliteStore

SOON = 10.0
"""Seconds within which a server must notice; a busy machine takes its time."""


def _seconds_until(true: Callable[[], bool]) -> float:
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < SOON, "not noticed in time"
        time.sleep(0.02)
    return time.monotonic() - began


# --- 6, 7, 10: the file ----------------------------------------------------------------------------------------------


def deleted(server: FakeServer, count: int) -> str:
    """The store is deleted while somebody speaks: what is not stored is not acknowledged."""
    longest = 0.0
    for _ in range(count):
        with begin(server) as (_, speaker):
            send(speaker, type="words", seq=1, words=["ka"])
            assert receive(speaker, "ack")["seq"] == 1
            for file in server.data.glob("sessions.sqlite*"):
                file.unlink()
            longest = max(longest, _seconds_until(lambda: server.status("/readyz") == 503))
            send(speaker, type="words", seq=2, words=["le"])
            refusal = receive(speaker, "error")
            assert (refusal["code"], refusal["retry"]) == ("store", True)
        server.kill()
        assert all("deleted or replaced" in line for line in server.faults())
        server.log.write_text("")
        server.start()
    return f"{count} stores deleted: not ready after {longest:.1f} s at most, no word acknowledged after that"


def twins(server: FakeServer, count: int) -> str:
    """A second server on the same folder."""
    assert server._process is not None
    for _ in range(count):
        options = json.dumps({"port": free_port(), "data": str(server.data)})
        command = [sys.executable, "-m", "tests.server.run_fake", options]
        second = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
        assert second.returncode != 0
        assert str(server._process.pid) in second.stderr, second.stderr
        assert server.status("/readyz") == 200
    return f"{count} second servers refused, each with the process of the first"


def full(server: FakeServer, count: int) -> str:
    """No byte more fits on the disk, and later some do again."""
    assert server._process is not None
    longest = 0.0
    for _ in range(count):
        with begin(server) as (_, speaker):
            send(speaker, type="words", seq=1, words=["ka"])
            receive(speaker, "ack")
            resource.prlimit(server._process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            send(speaker, type="words", seq=2, words=["le"])
            assert receive(speaker, "error")["code"] == "store"
            assert server.status("/readyz") == 503
            assert server.post("/api/sessions")[0] == 503
            endless = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(server._process.pid, resource.RLIMIT_FSIZE, endless)
        longest = max(longest, _seconds_until(lambda: server.status("/readyz") == 200))
    return f"{count} times a full disk: not ready at once, ready again after {longest:.1f} s at most"


# --- 8, 9, 11: bits ---------------------------------------------------------------------------------------------------


def flipped(server: FakeServer, count: int) -> str:
    """One bit of a store, anywhere in the file: what was said is served as it was, or not at all."""
    server.kill(signal.SIGTERM)
    events = [{"type": "source", "word": f"{SECRET}{i}", "index": i, "ms": 400.0 * i} for i in range(40)]
    names = [f"session-{number}" for number in range(16)]
    good, bad, chance = server.data / "good.sqlite", server.data / "bad.sqlite", random.Random(1)
    store = SqliteStore(good)
    stored = replace(STORED, progress=Progress(40, 40, ended=True), state=json.dumps({"words": [SECRET] * 40}))
    for name in names:
        store.create(replace(stored, id=name), events)
    store.close()
    whole, found = good.read_bytes(), collections.Counter[str]()
    for _ in range(count):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        bad.write_bytes(data)
        found.update(_looked_at(bad, names, events, stored.state))
    assert not found["changed"], found
    told = ", ".join(f"{number} {what}" for what, number in sorted(found.items()))
    for path in server.data.glob("*.sqlite*"):
        path.unlink()
    server.start()
    return f"{count} files with one bit changed, {len(names)} sessions each: {told}, none changed"


def _looked_at(path: Path, names: list[str], events: list[dict[str, Any]], state: str) -> list[str]:
    """What became of each session."""
    try:
        store = SqliteStore(path)
    except (ResourceError, StoreError):
        return ["refused at the start"]
    try:
        return [_session_looked_at(store, name, events, state) for name in names]
    finally:
        with contextlib.suppress(StoreError, sqlite3.Error):
            store.close()


def _session_looked_at(store: SqliteStore, name: str, events: list[dict[str, Any]], state: str) -> str:
    try:
        session = store.load(name)
        if session is None:
            return "not found"
        _, got = store.events(name, 0, 1000)
    except DamagedError:
        return "told as damaged"
    if len(got) < len(events):
        # The server compares with the number that the session has, and tells it as damaged.
        return "told as damaged" if got == events[: len(got)] else "changed"
    return "as they were" if (got, session.state) == (events, state) else "changed"


def tampered(server: FakeServer, count: int) -> str:
    """Letters of events that are others now, on a server that runs: told as damaged, and no word of it in the log."""
    begun = [spoken(server) for _ in range(count)]
    server.kill(signal.SIGTERM)
    path = server.data / "sessions.sqlite"
    data = path.read_bytes()
    # Of the same length, so that the file itself stays whole.
    path.write_bytes(data.replace(f'"word":"{SECRET}"'.encode(), f'"word":"{SECRET[:-1]}z"'.encode()))
    server.start()
    for one in begun:
        status, text = server.get(f"/api/sessions/{one['session']}/transcript.txt")
        assert (status, json.loads(text)["code"]) == (500, "damaged")
    log = server.log.read_text(errors="replace")
    assert SECRET[:-1] not in log
    return f"{count} changed transcripts asked for, all told as damaged; the log has no word of them"


# --- 12 to 14: starts, stops, requests that are given up --------------------------------------------------------------


def stops(server: FakeServer, count: int) -> str:
    """A stop during a request of 2,000 words, which the model would need long for."""
    body = json.dumps({"q": "ka le. " * 900, "source": "de", "target": "en"})
    longest = 0.0
    for _ in range(count):
        with ThreadPoolExecutor(1) as pool, connection(server.port) as raw:
            raw.sendall(f"{POST} /translate {JSON}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            while "turia_streams 1.0" not in server.get("/metrics")[1]:
                time.sleep(0.02)
            began = time.monotonic()
            stopping = pool.submit(server.kill, signal.SIGTERM)
            answer = raw.recv(4096)
            longest = max(longest, time.monotonic() - began)
            assert answer.startswith(b"HTTP/1.1 503 "), answer
            assert b"retry-after" in answer
            assert stopping.result() == 0
        told = _told_in_time(server)
        assert told, "the address was told before the port listened"
    return f"{count} stops during a long request: 503 after {longest:.1f} s at most; the address told when it listened"


def _told_in_time(server: FakeServer) -> bool:
    """Starts the server; whether it listened when it said where it is."""
    at = server.log.stat().st_size
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(server.start)
        while "Turia is at" not in server.log.read_text()[at:]:
            time.sleep(0.002)
        try:
            connection(server.port).close()
        except ConnectionRefusedError:
            return False
        finally:
            starting.result()
    return True


def given_up(server: FakeServer, count: int) -> str:
    """Uploads that end in the middle, with a farewell and without."""
    for number in range(count):
        path = ("/translate", "/api/sessions", "/api/rooms/x")[number % 3]
        with connection(server.port) as raw:
            if number % 2:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            raw.sendall(f"{POST} {path} {JSON}\r\nContent-Length: 100\r\n\r\n{{".encode())
    assert server.status("/livez") == 200
    return f"{count} uploads given up, no traceback"


# --- 15, 16: places, values and names ---------------------------------------------------------------------------------


def unused(server: FakeServer, count: int) -> str:
    """Sessions that are begun and have no speaker fill the server, again and again."""
    longest = 0.0
    for _ in range(count):
        while server.post("/api/sessions")[0] == 201:
            pass
        longest = max(longest, _seconds_until(lambda: server.post("/api/sessions")[0] == 201))
    return f"{count} times all places taken by sessions without a speaker: one is free after {longest:.1f} s at most"


ODD_KS: tuple[Any, ...] = (True, False, "4", 4.0, 4.5, 0, -1, 101, 2**63, 1e300, [], [4], {}, {"k": 4})
ODD_HOSTS = (
    "evil.com@127.0.0.1", "127.0.0.1#evil.com", "127.0.0.1/evil.com", "127.0.0.1?x", "127.0.0.1.evil.com", "evil.com",
    "localhost.evil.com", "127.0.0.1\\@evil.com", "[::1].evil.com", "[::1", "127.0.0.1:80:80", "127.0.0.1:x", "0x7f.1",
    "localhost%00.evil.com", "127.0.0.1 evil.com", "evil.com:80", "@localhost", "localhost@", "127.0.0.1:@evil.com",
    "x" * 300,
)  # fmt: skip


def values(server: FakeServer, rounds: int) -> str:
    """Values of k that are no whole number from 1 to 100, and names of this machine that are none."""
    for _ in range(rounds):
        for k in ODD_KS:
            assert server.post("/api/sessions", {"k": k})[0] == 422, k
        for host in ODD_HOSTS:
            asked = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            asked.putrequest("GET", "/api/info", skip_host=True)
            asked.putheader("Host", host)
            asked.endheaders()
            assert asked.getresponse().status in (400, 403), host
            asked.close()
    return f"{rounds * len(ODD_KS)} odd values of k and {rounds * len(ODD_HOSTS)} odd host names, all refused"


Scenario = Callable[[FakeServer, int], str]
DAMAGE: dict[str, tuple[Scenario, int, dict[str, Any]]] = {
    "deleted": (deleted, 10, {}),
    "twins": (twins, 10, {}),
    "full": (full, 10, {}),
    "flipped": (flipped, 1000, {}),
    "tampered": (tampered, 100, {}),
    "stops": (stops, 10, {}),
    "given-up": (given_up, 1000, {}),
    "unused": (unused, 5, {"streams": 6, "streams_per_key": 6}),
    "values": (values, 10, {}),
}
