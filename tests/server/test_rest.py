"""Whole texts over HTTP: LibreTranslate's requests, answers and errors, on a real server."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from tests.server.servers import FakeServer
from turia.server.rest import RestError, choose_model, parse_request

PAIR = {"source": "de", "target": "en"}


def test_a_text_is_translated(server: FakeServer) -> None:
    assert server.post("/translate", {"q": "ka le mi.", **PAIR}) == (200, {"translatedText": "ka le mi"})


def test_lines_stay_lines(server: FakeServer) -> None:
    status, answer = server.post("/translate", {"q": "ka le.\n\nmi no pu", **PAIR, "format": "text"})
    assert (status, answer) == (200, {"translatedText": "ka le\n\nmi no pu"})


def test_a_list_of_texts_and_alternatives(server: FakeServer) -> None:
    asked = {"q": ["ka le.", "", "mi"], **PAIR, "alternatives": 2}
    assert server.post("/translate", asked) == (
        200, {"translatedText": ["ka le", "", "mi"], "alternatives": [[], [], []]}
    )  # fmt: skip


def test_a_form(server: FakeServer) -> None:
    body = urllib.parse.urlencode({"q": "ka le", **PAIR, "api_key": ""}).encode()
    with urllib.request.urlopen(server.url + "/translate", body, timeout=30) as answer:
        assert json.load(answer) == {"translatedText": "ka le"}


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
    assert server.post("/translate", {"q": "mi", "source": "en", "target": "de", "session": name})[0] == 400


def test_keys_and_capacity(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("a-key-of-some-length\n", encoding="utf-8")
    with FakeServer(tmp_path, key_file=str(keys), limits={"streams": 1, "streams_a_key": 1}) as server:
        asked = {"q": "ka", **PAIR}
        status, answer = server.post("/translate", asked)
        assert (status, list(answer)) == (403, ["error"])
        good = asked | {"api_key": "a-key-of-some-length"}
        assert server.post("/translate", good) == (200, {"translatedText": "ka"})
        # The place of a text is free again when it is translated; that of a session is held.
        assert server.post("/translate", good)[0] == 200
        assert server.post("/translate", good | {"session": True})[0] == 200
        status, answer = server.post("/translate", good)
        assert (status, list(answer)) == (503, ["error"])
        assert server.faults() == []


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"target": "en"}, "q is missing"),
        ({"q": [], "target": "en"}, "q is missing"),
        ({"q": [1], "target": "en"}, "q is missing"),
        ({"q": "ka"}, "target is missing"),
        ({"q": "ka", "target": "en", "format": "html"}, "markup is not translated"),
        ({"q": "ka", "target": "en", "alternatives": -1}, "alternatives is not a whole number"),
        ({"q": "ka " * 2001, "target": "en"}, "2001 words; at most 2000"),
        ({"q": "ka", "target": "en", "session": 3}, "session is neither"),
        ({"q": "ka", "target": "fr"}, "this pair of languages is not here; this server has de-en, en-de"),
        ({"q": "ka", "target": "en", "source": "fr"}, "this pair of languages is not here"),
    ],
)
def test_what_is_refused(server: FakeServer, asked: dict[str, object], message: str) -> None:
    status, answer = server.post("/translate", asked)
    assert status == 400
    assert list(answer) == ["error"]
    assert message in answer["error"]


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"{" * 100_000, b"null"])
def test_bodies_that_are_none(body: bytes) -> None:
    with pytest.raises(RestError, match="expected a JSON object, or a form"):
        parse_request(body, "application/json")


def test_which_model() -> None:
    assert choose_model(["de-en", "en-de"], "auto", "de") == "en-de"
    with pytest.raises(RestError, match="say the source's"):
        choose_model(["de-en", "fr-en"], "auto", "en")
