"""Whole texts over HTTP: LibreTranslate's requests, answers and errors, on a real server."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser

from tests.server.fakes import fake_translators
from tests.server.servers import FakeServer
from turia.policy.waitk import WaitK
from turia.protocol.server_messages import Refusal
from turia.server.admission import RefusedError
from turia.server.captions import Word
from turia.server.choices import StreamChoice
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.rest import RestError, RestSpeaker, _speak, choose_model
from turia.server.sessions import SessionManager
from turia.server.stores.sqlite import SqliteStore

PAIR = {"source": "de", "target": "en"}
CHOICE = StreamChoice("de-en", WaitK(4), punctuation=True)


def test_a_text_is_translated(server: FakeServer) -> None:
    assert server.post("/translate", {"q": "ka le mi.", **PAIR}) == (200, {"translatedText": "ka le mi"})


def test_letters_of_broken_forms_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    parser = MultipartParser(b"x")
    with pytest.raises(MultipartParseError):
        parser.write(b"secret words")
    assert caplog.records == []


def test_lines_stay_lines(server: FakeServer) -> None:
    status, answer = server.post("/translate", {"q": "ka le.\n\nmi no pu", **PAIR, "format": "text"})
    assert (status, answer) == (200, {"translatedText": "ka le\n\nmi no pu"})


def test_a_list_of_texts_and_alternatives(server: FakeServer) -> None:
    asked = {"q": ["ka le.", "", "mi"], **PAIR, "alternatives": 2}
    assert server.post("/translate", asked) == (
        200, {"translatedText": ["ka le", "", "mi"], "alternatives": [[], [], []]}
    )  # fmt: skip


def multipart(*fields: tuple[str, str], filename: str = "") -> tuple[str, bytes]:
    named = f'; filename="{filename}"' if filename else ""
    parts = [f'--x\r\nContent-Disposition: form-data; name="{key}"{named}\r\n\r\n{value}\r\n' for key, value in fields]
    return "multipart/form-data; boundary=x", ("".join(parts) + "--x--\r\n").encode()


def urlencoded(*fields: tuple[str, str]) -> tuple[str, bytes]:
    return "application/x-www-form-urlencoded", urllib.parse.urlencode(fields).encode()


Form = Callable[..., tuple[str, bytes]]


def send(server: FakeServer, content_type: str, body: bytes) -> tuple[int, Any]:
    request = urllib.request.Request(server.url + "/translate", body, {"Content-Type": content_type})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize("form", [urlencoded, multipart])
def test_forms(server: FakeServer, form: Form) -> None:
    rest = (*PAIR.items(), ("api_key", ""), ("session", "false"), ("alternatives", "0"))
    assert send(server, *form(("q", "ka öß ł"), *rest)) == (200, {"translatedText": "ka öß ł"})
    assert send(server, *form(("q", "ka"), ("q", "le mi"), *rest)) == (200, {"translatedText": ["ka", "le mi"]})
    status, answer = send(server, *form(*rest))
    assert (status, answer["error"]) == (400, "missing key 'q'")
    kind, body = form(("q", "ka öß"), *rest)
    assert send(server, f"{kind};charset=UTF-8", body) == (200, {"translatedText": "ka öß"})


def test_a_form_that_curl_did_not_escape(server: FakeServer) -> None:
    body = "q=ka öß&source=de&target=en".encode()
    assert send(server, "application/x-www-form-urlencoded", body) == (200, {"translatedText": "ka öß"})


def test_forms_that_are_none(server: FakeServer) -> None:
    kind, body = multipart(("q", "ka"), *PAIR.items(), filename="talk.txt")
    for content_type, sent in (
        (kind, body),
        ("multipart/form-data", body),
        (kind, b"--y"),
        (f"{kind};charset=idna", body),
    ):
        status, answer = send(server, content_type, sent)
        assert (status, answer["error"]) == (400, "expected a JSON object, or a form without files")


@pytest.mark.parametrize("charset", ["charset=punycode", "CHARSET=Punycode", "charset=utf-8;charset=punycode"])
def test_a_form_names_no_codec_that_takes_long(server: FakeServer, charset: str) -> None:
    """As punycode, 64 KB held the event loop for half a second, whoever sent them: keys are fields of the form."""
    # Punycode of plain letters has a hyphen behind them.
    kind, body = multipart(*((f"{key}-", f"{value}-") for key, value in {"q": "ka", **PAIR}.items()))
    status, answer = send(server, f"{kind};{charset}", body)
    assert (status, answer["error"]) == (400, "expected a JSON object, or a form without files")


def test_languages_and_health(server: FakeServer) -> None:
    assert json.loads(server.get("/languages")[1]) == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]
    assert server.get("/health") == (200, '{"status":"ok"}')


def test_a_session_keeps_its_history(server: FakeServer) -> None:
    """All texts of a session are one stream: its transcript has them all, counted on."""
    status, answer = server.post("/translate", {"q": "ka le.", **PAIR, "session": True})
    assert status == 200
    name = answer["session"]
    status, again = server.post("/translate", {"q": "mi no", **PAIR, "session": name})
    assert (status, again) == (200, {"translatedText": "mi no", "session": name})
    assert server.get(f"/api/sessions/{name.partition('.')[0]}/transcript.txt") == (200, "ka le\nmi no\n")
    wrong = name.partition(".")[0] + ".guess"
    assert server.post("/translate", {"q": "mi", **PAIR, "session": wrong})[0] == 404
    assert server.post("/translate", {"q": "mi", **PAIR, "session": "\ud800.x"})[0] == 404
    assert server.post("/translate", {"q": "mi", "source": "en", "target": "de", "session": name})[0] == 400


@pytest.mark.slow
def test_keys_and_capacity(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("a-key-of-some-length\n", encoding="utf-8")
    with FakeServer(tmp_path, key_file=str(keys), limits={"streams": 1, "streams_per_key": 1}) as server:
        asked = {"q": "ka", **PAIR}
        status, answer = server.post("/translate", asked)
        assert (status, answer["code"]) == (403, "key")
        good = asked | {"api_key": "a-key-of-some-length"}
        assert server.post("/translate", good) == (200, {"translatedText": "ka"})
        # The place of a text is free again when it is translated; that of a session is held.
        assert server.post("/translate", good)[0] == 200
        assert server.post("/translate", good | {"session": True})[0] == 200
        status, answer = server.post("/translate", good)
        assert (status, answer["code"]) == (503, "capacity")
        assert server.faults() == []


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"target": "en"}, "missing key 'q'"),
        ({"q": [], "target": "en"}, "q is a list, expected a string or a list of strings"),
        ({"q": ["secret", 1], "target": "en"}, "q is a list, expected a string or a list of strings"),
        ({"q": "ka"}, "missing key 'target'"),
        ({"q": "ka", "target": 1}, "target is 1, expected a string"),
        (
            {"q": "ka", "target": "en", "format": "html"},
            "format is a string, expected 'text': markup is not translated",
        ),
        ({"q": "ka", "target": "en", "alternatives": -1}, "alternatives is -1, expected a whole number from 0"),
        ({"q": "ka", "target": "en", "alternatives": "2"}, "alternatives is a string, expected a whole number from 0"),
        ({"q": "ka", "target": "en", "alternatives": True}, "alternatives is True, expected a whole number from 0"),
        ({"q": "ka " * 2001, "target": "en"}, "q has 2001 words, expected at most 2000"),
        ({"q": "ka", "target": "en", "session": 3}, "session is 3, expected true or false or a string"),
        ({"q": "ka", "target": "fr"}, "this pair of languages is not here; this server has de-en, en-de"),
        ({"q": "ka", "target": "en", "source": "fr"}, "this pair of languages is not here"),
    ],
)
def test_what_is_refused(server: FakeServer, asked: dict[str, object], message: str) -> None:
    status, answer = server.post("/translate", asked)
    assert status == 400
    assert list(answer) == ["detail", "code", "error"]
    assert message in answer["error"]
    assert "secret" not in answer["error"]


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"[" * 60_000, b"null"])
def test_bodies_that_are_none(server: FakeServer, body: bytes) -> None:
    assert send(server, "application/json", body)[0] == 400


def test_a_request_that_is_too_large_is_told_as_all_errors_are(server: FakeServer) -> None:
    status, answer = send(server, "application/json", b" " * 70_000)
    assert (status, answer["code"]) == (413, "size")


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (None, RestError),
        (Refusal("failed", "the translation failed"), RestError),
        (Refusal("store", "no answer", retry=True), RefusedError),
    ],
)
def test_a_request_that_has_lost_the_word_says_nothing_more(
    tmp_path: Path, refusal: Refusal | None, error: type[Exception]
) -> None:
    """To a newer request of its session, or because the session failed; the other's words stay unmixed."""

    async def interrupt() -> None:
        manager = SessionManager(fake_translators(), SqliteStore(tmp_path / "sessions.sqlite"), Limits(), Metrics())
        await manager.start()
        session_id, _ = await manager.create("owner", CHOICE)
        session = await manager.find(session_id)
        assert session is not None
        speaker = RestSpeaker(
            manager, session, await manager.join(session, "speaker", await manager.next_turn(session_id))
        )
        assert await speaker.line("ka le.") == "ka le"
        if refusal is None:
            await manager.join(session, "speaker", await manager.next_turn(session_id))
        else:
            speaker.reader.refuse(refusal)
        before = session.received
        with pytest.raises(error) as caught:
            await speaker.line("mi no.")
        assert session.received == before
        if isinstance(caught.value, RestError):
            assert caught.value.status == (409 if refusal is None else 500)
        await manager.stop()

    asyncio.run(interrupt())


@pytest.fixture
def speaking(tmp_path: Path) -> Callable[[Callable[[SessionManager, str], Awaitable[None]]], None]:
    """Runs something with a manager and a session of it."""

    def run(speak: Callable[[SessionManager, str], Awaitable[None]]) -> None:
        async def begin() -> None:
            manager = SessionManager(fake_translators(), SqliteStore(tmp_path / "sessions.sqlite"), Limits(), Metrics())
            await manager.start()
            session_id, _ = await manager.create("owner", CHOICE)
            await asyncio.wait_for(speak(manager, session_id), 60)
            await manager.stop()

        asyncio.run(begin())

    return run


Speaking = Callable[[Callable[[SessionManager, str], Awaitable[None]]], None]


def test_what_a_request_that_was_given_up_left_is_not_the_next_ones(speaking: Speaking) -> None:
    async def speak(manager: SessionManager, session_id: str) -> None:
        session = await manager.find(session_id)
        assert session is not None
        await manager.join(session, "speaker", await manager.next_turn(session_id))
        # Within a line, with the worker still at it.
        manager.take(session, [Word(1, "ka"), Word(2, "le.")])
        manager.take(session, [Word(3, "no")])
        assert await _speak(manager, session_id, ["mi pu."], ends=False) == ["mi pu"]

    speaking(speak)


def test_a_session_that_is_dropped_from_memory_on_the_way_is_found_again(
    speaking: Speaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def speak(manager: SessionManager, session_id: str) -> None:
        next_turn = manager.next_turn

        async def with_a_sweep(session_id: str) -> int:
            manager._sessions.clear()
            return await next_turn(session_id)

        monkeypatch.setattr(manager, "next_turn", with_a_sweep)
        assert await _speak(manager, session_id, ["ka le."], ends=True) == ["ka le"]

    speaking(speak)


@pytest.mark.slow
def test_texts_without_words_begin_no_session(tmp_path: Path) -> None:
    with FakeServer(tmp_path) as running:
        texts = ["", " \n "] * 5000
        status, answer = running.post("/translate", {"q": texts, **PAIR})
        assert (status, answer) == (200, {"translatedText": ["", "\n"] * 5000})
    with sqlite3.connect(tmp_path / "sessions.sqlite") as database:
        assert database.execute("SELECT count(*) FROM sessions").fetchall() == [(0,)]


def test_which_model() -> None:
    both = {"de-en": ("de", "en"), "en-de": ("en", "de")}
    assert choose_model(both, "auto", "de") == "en-de"
    assert choose_model({**both, "pt-BR-en": ("pt-BR", "en")}, "pt-BR", "en") == "pt-BR-en"
    with pytest.raises(RestError, match="not here"):
        choose_model({"pt-BR-en": ("pt-BR", "en")}, "pt", "BR-en")
    with pytest.raises(RestError, match="say the source's"):
        choose_model({**both, "fr-en": ("fr", "en")}, "auto", "en")
