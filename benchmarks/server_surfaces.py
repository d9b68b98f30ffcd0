"""What somebody who may use the server could do to others: codes, tables, corrections, tickets, sound, rooms.

Each scenario does one thing as often as it can for a bounded time, over connections of its own, while a bystander
speaks; see benchmarks/server_attacks.py. `python -m benchmarks.server_faults NAME` runs them.
"""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from benchmarks.server_attacks import compared
from tests.protocol.sounds import sound_bytes
from tests.server.servers import FakeServer
from turia.protocol.sound import MAX_SAMPLES

LOOPS = 4
Statuses = Counter[int]


def _asked(
    server: FakeServer, seconds: float, make: Callable[[int], tuple[str, str, dict[str, str], bytes]]
) -> Statuses:
    """Requests in some loops, each on a connection that is kept; how often each status came (0: no answer)."""
    statuses, lock, until = Statuses(), threading.Lock(), time.monotonic() + seconds
    numbers = itertools.count()

    def loop() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        while time.monotonic() < until:
            method, path, headers, body = make(next(numbers))
            try:
                connection.request(method, path, body or None, headers)
                answer = connection.getresponse()
                answer.read()
                status = answer.status
            except (OSError, http.client.HTTPException):
                connection.close()
                status = 0
            with lock:
                statuses[status] += 1
        connection.close()

    with ThreadPoolExecutor(LOOPS) as pool:
        for _ in range(LOOPS):
            pool.submit(loop)
    return statuses


def _said(server: FakeServer, seconds: float, make: Callable[[int], list[dict[str, Any]]]) -> int:
    """Messages that some speakers could send, as fast as they are taken."""
    until, counts = time.monotonic() + seconds, Counter[int]()

    def speak(speaker: int) -> None:
        with _speaking(server) as (_, socket):
            try:
                for number in itertools.count():
                    for message in make(number):
                        socket.send(json.dumps(message))
                    counts[speaker] += 1
                    while (left := until - time.monotonic()) > 0 and json.loads(socket.recv(left))["type"] != "ack":
                        pass
                    if left <= 0:
                        return
            except (ConnectionClosed, TimeoutError):
                return

    with ThreadPoolExecutor(LOOPS) as pool:
        for speaker in range(LOOPS):
            pool.submit(speak, speaker)
    return counts.total()


def _told(what: str, statuses: Statuses, told: str) -> str:
    counted = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
    return f"{what}: {counted}; {told}"


def codes(server: FakeServer, seconds: int) -> str:
    """QR codes, another one each time: nobody needs a key for them."""

    def make(number: int) -> tuple[str, str, dict[str, str], bytes]:
        # Where no keys are asked for, names of this machine alone pass. All of these are.
        return "GET", "/room/hall/qr.png?size=40", {"Host": f"127.{number % 250}.{number // 250 % 250}.1"}, b""

    told, statuses = compared(server, lambda: _asked(server, seconds, make), most=0.25)
    return _told("QR codes", statuses, told)


def tables(server: FakeServer, seconds: int) -> str:
    """Glossaries as large as they may be, another one each time."""
    _, begun = server.post("/api/sessions")

    def make(number: int) -> tuple[str, str, dict[str, str], bytes]:
        terms = "".join(f"*wort{number}x{i} zwei{i}*\tsome words{i}\n" for i in range(1000))
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {begun['secret']}"}
        body = {"type": "settings", "glossary": terms}
        if number % 2:
            return "POST", "/api/sessions", headers, json.dumps({"glossary": terms}).encode()
        return "POST", f"/api/sessions/{begun['session']}/steer", headers, json.dumps(body).encode()

    told, statuses = compared(server, lambda: _asked(server, seconds, make), most=0.25)
    return _told("glossaries of 1,000 terms", statuses, told)


def settings(server: FakeServer, seconds: int) -> str:
    """Speakers who send another small table again and again."""

    def make(number: int) -> list[dict[str, Any]]:
        terms = "".join(f"*wort{number}x{i}*\tsome words{i}\n" for i in range(200))
        return [{"type": "settings", "seq": number + 1, "glossary": terms}]

    told, sent = compared(server, lambda: _said(server, seconds, make), most=0.25)
    return f"{sent} tables of 200 terms by {LOOPS} speakers; {told}"


def terms(server: FakeServer, seconds: int) -> str:
    """Speakers with a table that is made to be searched for long, and words that fit all of it."""
    one = "".join(f"{'*a* ' * 8}*{'a' * (i % 30)}b{i}\tx{i}\n" for i in range(1000))

    def make(number: int) -> list[dict[str, Any]]:
        if number == 0:
            return [{"type": "settings", "seq": 1, "glossary": one}]
        return [{"type": "words", "seq": number + 1, "words": ["a" * 200]}]

    told, sent = compared(server, lambda: _said(server, seconds, make), most=0.25)
    return f"{sent} words that fit 1,000 terms nearly, by {LOOPS} speakers; {told}"


def corrections(server: FakeServer, seconds: int) -> str:
    """An operator, or a program of his, who corrects without end."""
    with _speaking(server) as (begun, socket):
        socket.send(json.dumps({"type": "words", "seq": 1, "words": ["ka", "le."]}))

        def make(number: int) -> tuple[str, str, dict[str, str], bytes]:
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {begun['secret']}"}
            body = {"type": "insert", "before": 0, "text": "x" * 1000}
            return "POST", f"/api/sessions/{begun['session']}/steer", headers, json.dumps(body).encode()

        memory = server.memory()
        told, statuses = compared(server, lambda: _asked(server, seconds, make), most=0.25)
        grown = (server.memory() - memory) / 2**20
    return _told(f"corrections, {grown:.0f} MB more", statuses, told)


def tickets(server: FakeServer, seconds: int) -> str:
    """Tickets for a session whose public name is known."""
    _, begun = server.post("/api/sessions")

    def make(number: int) -> tuple[str, str, dict[str, str], bytes]:
        return "POST", f"/api/sessions/{begun['session']}/tickets", {}, b""

    told, statuses = compared(server, lambda: _asked(server, seconds, make), most=0.25)
    return _told("tickets", statuses, told)


def rooms(server: FakeServer, seconds: int) -> str:
    """Rooms that are made, filled, emptied and deleted, while people watch them."""
    _, begun = server.post("/api/sessions")
    session = json.dumps({"session": begun["session"], "take_room": True}).encode()

    def make(number: int) -> tuple[str, str, dict[str, str], bytes]:
        steps = (("PUT", "", b"{}"), ("PUT", "/session", session), ("DELETE", "/session", b""), ("DELETE", "", b""))
        method, path, body = steps[number % 4]
        return method, f"/api/rooms/room-{number // 4 % 50}{path}", {"Content-Type": "application/json"}, body

    with _watching(server, "room-1", 20):
        told, statuses = compared(server, lambda: _asked(server, seconds, make), most=0.25)
    return _told("changes of rooms", statuses, told)


def sound(server: FakeServer, seconds: int) -> str:
    """Sound that nobody listens to, then sound again and again from its beginning; listening begun without end."""

    def attack() -> Counter[str]:
        sent: Counter[str] = Counter()
        for kind in ("unheard", "again", "listen"):
            until = time.monotonic() + seconds / 3
            while time.monotonic() < until:
                with _speaking(server) as (_, socket):
                    try:
                        _make_noise(socket, kind, until, sent)
                    except (ConnectionClosed, TimeoutError):
                        sent["cut"] += 1
        return sent

    told, sent = compared(server, attack, most=0.25)
    return f"sound: {dict(sent)}; {told}"


def _make_noise(socket: ClientConnection, kind: str, until: float, sent: Counter[str]) -> None:
    piece = sound_bytes(0, bytes(2 * MAX_SAMPLES))
    listen = json.dumps({"type": "listen", "from": 0, "language": "en"})
    if kind == "again":
        socket.send(listen)
    while time.monotonic() < until:
        socket.send(listen if kind == "listen" else piece)
        sent[kind] += 1


@contextmanager
def _speaking(server: FakeServer) -> Iterator[tuple[dict[str, Any], ClientConnection]]:
    _, begun = server.post("/api/sessions")
    with connect(f"ws://127.0.0.1:{server.port}/socket", compression=None, close_timeout=2) as opened:
        opened.send(json.dumps({"type": "hello", "protocol": 1, "ticket": begun["ticket"]}))
        assert json.loads(opened.recv(timeout=60))["type"] == "hello"
        yield begun, opened


@contextmanager
def _watching(server: FakeServer, room: str, count: int) -> Iterator[None]:
    """So many who watch a room, and come again when they are sent away."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            try:
                with connect(f"ws://127.0.0.1:{server.port}/socket/rooms/{room}", compression=None) as opened:
                    opened.send('{"type":"hello","protocol":1}')
                    while not stop.is_set():
                        opened.recv(timeout=1)
            except (ConnectionClosed, TimeoutError, OSError):
                stop.wait(0.2)

    threads = [threading.Thread(target=watch, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(10)


Scenario = Callable[[FakeServer, int], str]
SURFACES: dict[str, tuple[Scenario, int, dict[str, Any]]] = {
    "codes": (codes, 15, {"rooms": ["hall"]}),
    "tables": (tables, 15, {}),
    "settings": (settings, 15, {}),
    "terms": (terms, 15, {}),
    "corrections": (corrections, 15, {}),
    "tickets": (tickets, 15, {}),
    "rooms": (rooms, 15, {}),
    "sound": (sound, 15, {"recogniser": "levels"}),
}
