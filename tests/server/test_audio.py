"""Sound that the server recognises, over real sockets. The recogniser hears levels of loudness as words."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.protocol.sounds import sound_bytes
from tests.server.servers import FakeServer
from tests.speech.fakes import sound
from turia.protocol.sound import HEADER
from turia.speech.recogniser import RATE, Samples
from turia.speech.vosk import as_pcm

pytestmark = pytest.mark.slow

SPOKEN = sound((0, 0.5), (1, 0.7), (2, 0.7), (0, 1.0), (3, 0.8), (0, 3.0), (4, 0.8), (0, 0.5))
WORDS = ["w1", "w2", "w3", "w4"]
BLOCK = 1600


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    limits = {"idle": 20.0, "idle_warning": 10.0, "pause": 1.5}
    with FakeServer(tmp_path_factory.mktemp("audio"), recogniser="levels", limits=limits) as running:
        yield running
        assert running.faults() == []


class Client:
    """A speaker's client that sends sound and remembers what comes."""

    def __init__(self, server: FakeServer, session: dict[str, Any] | None = None) -> None:
        self.server = server
        self.session = session or server.post("/api/sessions", {"model": "en-de", "k": 1, "punctuation": True})[1]
        self.socket: ClientConnection
        self.heard: list[dict[str, Any]] = []

    def __enter__(self) -> Client:
        path = f"/api/sessions/{self.session['session']}/tickets"
        ticket = self.server.post(path, Authorization=f"Bearer {self.session['secret']}")[1]["ticket"]
        self.socket = connect(f"ws://127.0.0.1:{self.server.port}/socket").__enter__()
        self.say(type="hello", protocol=1, ticket=ticket)
        self.welcome = self.until("hello")
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def until(self, kind: str) -> dict[str, Any]:
        """The next message of this type; what is heard meanwhile is remembered."""
        while True:
            message: dict[str, Any] = json.loads(self.socket.recv(timeout=60))
            if message["type"] == "heard":
                self.heard.append(message)
            if message["type"] == kind:
                return message

    def until_over(self) -> None:
        while not self.until("heard")["over"]:
            pass

    def send(self, samples: Samples, first: int = 0, waits: bool = False) -> None:
        """All at once, or no more than half a second ahead of the recogniser."""
        taken = first
        for begin in range(0, len(samples), BLOCK):
            self.socket.send(sound_bytes(first + begin, as_pcm(samples[begin : begin + BLOCK])))
            while waits and first + begin - taken > RATE // 2:
                taken = self.until("heard")["taken"]

    def words(self) -> list[str]:
        return [word for message in self.heard for word in message["words"]]

    def refusal(self) -> str:
        """The code with which the server ends the connection."""
        return str(self.until("error")["code"])


def test_sound_becomes_words_with_times_on_the_clock_of_its_samples(server: FakeServer) -> None:
    first = 160_000
    with Client(server) as client:
        assert client.welcome["limits"]["sound"] == 1
        client.say(type="listen", **{"from": first}, language="en-GB")
        assert client.until("listening") == {"type": "listening", "from": first, "window": 160_000}
        client.send(SPOKEN, first, waits=True)
        client.say(type="hush")
        client.until_over()
        assert client.words() == WORDS
        times = [time for message in client.heard for time in message["times"]]
        assert times == pytest.approx([11_200, 11_900, 13_700, 17_500], abs=100)
        assert ["w1"] in [message.get("partial") for message in client.heard]
        assert [message["words"] for message in client.heard if message["pause"]] == [[]], "a silence of three seconds"
        last = client.heard[-1]
        assert (last["taken"], last["settled"]) == (first + len(SPOKEN), 0)
        assert last["keep"] > first
        # The words are the client's to send; their captions are measured from the sound.
        client.say(type="words", seq=1, words=client.words(), times=times)
        while not any(event["type"] == "write" for event in client.until("events")["events"]):
            pass
        metrics = server.get("/metrics")[1]
    assert "turia_listeners 1.0" not in metrics
    assert "turia_capacity_listeners 2.0" in metrics
    counts = {line.split()[0]: float(line.split()[1]) for line in metrics.splitlines() if not line.startswith("#")}
    assert counts["turia_sound_seconds_total"] >= 7.0
    assert counts["turia_recogniser_seconds_total"] > 0
    assert counts["turia_heard_seconds_count"] >= 4
    assert counts["turia_recogniser_factor"] == pytest.approx(0.35)


def test_a_connection_that_breaks_loses_no_sound_and_doubles_none(server: FakeServer) -> None:
    kept, settled = 0, list[str]()
    with Client(server) as client:
        session = client.session
        client.say(type="listen", **{"from": 0}, language="en")
        # Up to a short pause, in which the words are settled, but the utterance is not over.
        client.send(SPOKEN[: round(2.3 * RATE)])
        while client.words() != ["w1", "w2"]:
            client.until("heard")
        words = client.words()
        for message in client.heard:
            kept = message["keep"]
            settled = [*settled, *message["words"]][-message["settled"] :] if message["settled"] else []
        client.socket.socket.close()
    assert 0 <= kept <= 0.5 * RATE
    assert settled == words
    with Client(server, session) as client:
        client.say(type="listen", **{"from": kept}, language="en", settled=settled)
        client.send(SPOKEN[kept:], kept)
        client.say(type="hush")
        client.until_over()
        assert [*words, *client.words()] == WORDS


def test_sound_that_came_before_is_passed_over_and_a_gap_is_refused(server: FakeServer) -> None:
    with Client(server) as client:
        client.say(type="listen", **{"from": 0}, language="en")
        client.send(SPOKEN)
        client.send(SPOKEN[:RATE])
        client.socket.send(sound_bytes(len(SPOKEN) + 1, b"\0\0"))
        assert client.refusal() == "sound"
    with Client(server) as client:
        # Nobody listens: the end of an earlier listening may have crossed it on its way.
        client.send(SPOKEN[:BLOCK])
        client.say(type="hush")
        client.say(type="ping")
        client.until("pong")


@pytest.mark.parametrize(
    "data", [b"\x01", b"\x03" + bytes(30), HEADER.pack(1, 0) + b"abc"], ids=["short", "later", "odd"]
)
def test_what_is_no_sound_is_refused(server: FakeServer, data: bytes) -> None:
    with Client(server) as client:
        client.say(type="listen", **{"from": 0}, language="en")
        client.socket.send(data)
        assert client.refusal() == "sound"


def test_more_sound_than_may_wait_is_refused(server: FakeServer) -> None:
    with Client(server) as client:
        client.say(type="listen", **{"from": 0}, language="en")
        client.until("listening")
        with pytest.raises(ConnectionClosed):  # noqa: PT012
            # Faster than anybody recognises; the server reads no more after the refusal.
            for first in range(0, 10_000 * RATE, RATE):
                client.socket.send(sound_bytes(first, bytes(2 * RATE)))
        assert server.status("/livez") == 200


def test_who_may_not_speak_sends_no_sound(server: FakeServer) -> None:
    with Client(server) as speaker:
        ticket = server.post(f"/api/sessions/{speaker.session['session']}/tickets")[1]["ticket"]
        with connect(f"ws://127.0.0.1:{server.port}/socket") as viewer:
            viewer.send(json.dumps({"type": "hello", "protocol": 1, "ticket": ticket}))
            viewer.send(sound_bytes(0, b"\0\0"))
            while (got := json.loads(viewer.recv(timeout=60)))["type"] != "error":
                pass
    assert got["code"] == "role"


def test_another_language_and_one_speaker_too_many_are_told_and_the_session_stays(server: FakeServer) -> None:
    with Client(server) as first, Client(server) as second, Client(server) as third:
        for client in (first, second):
            client.say(type="listen", **{"from": 0}, language="en")
            client.until("listening")
        third.say(type="listen", **{"from": 0}, language="de")
        told = third.until("sound")
        assert (told["code"], told["over"]) == ("language", True)
        assert told["message"].endswith("it knows: en")
        third.say(type="listen", **{"from": 0}, language="en")
        assert third.until("sound")["code"] == "capacity"
        # Who begins anew has the place already.
        second.say(type="listen", **{"from": 5}, language="en")
        assert second.until("listening")["from"] == 5
        second.say(type="hush")
        second.until_over()
        third.say(type="listen", **{"from": 0}, language="en")
        third.until("listening")


@pytest.mark.slow
def test_a_microphone_that_somebody_forgot_is_silence(tmp_path: Path) -> None:
    """Noise that never stops is warned and sent off like a speaker who says nothing. The recogniser hears no words."""
    limits = {"idle": 2.0, "idle_warning": 1.5}
    with FakeServer(tmp_path, recogniser="levels", limits=limits) as server, Client(server) as client:
        client.say(type="listen", **{"from": 0}, language="en")
        noise = as_pcm(np.random.default_rng(1).uniform(-0.04, 0.04, BLOCK).astype(np.float32))
        codes = []
        try:
            for number in range(10_000):
                client.socket.send(sound_bytes(number * BLOCK, noise))
                while (message := _next(client.socket)) is not None:
                    codes.append(message.get("code"))
                    assert not message.get("words")
        except ConnectionClosed:
            pass
    assert [code for code in codes if code] == ["idle", "idle"]


def _next(socket: ClientConnection) -> dict[str, Any] | None:
    try:
        return dict(json.loads(socket.recv(timeout=0.1)))
    except TimeoutError:
        return None


def test_info_says_what_is_recognised(server: FakeServer) -> None:
    info = json.loads(server.get("/api/info")[1])
    assert (info["recognises"], info["browser_speech"]) == (["en"], False)


def test_sound_that_nobody_hears_is_read_at_a_rate_too(server: FakeServer) -> None:
    """A minute at once, then 1.5 seconds in a second."""
    second = sound_bytes(0, bytes(2 * RATE))
    with Client(server) as client:
        began = time.monotonic()
        for _ in range(63):
            client.socket.send(second)
        client.say(type="ping")
        client.until("pong")
        assert time.monotonic() - began >= 1.2
