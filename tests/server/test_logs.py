"""Logs: one line for each thing, for people or for programs, without text, secrets or names of sessions."""

from __future__ import annotations

import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.servers import FakeServer
from tests.server.test_app import begin, open_socket, receive, send
from turia.server.logs import JsonLines, Sparingly, TextLines, alias, configure


def record(
    message: str, *arguments: object, exception: BaseException | None = None, **fields: Any
) -> logging.LogRecord:
    info = None if exception is None else (type(exception), exception, exception.__traceback__)
    made = logging.LogRecord("turia.server", logging.INFO, "file.py", 1, message, arguments, info)
    made.created, made.msecs = 1_800_000_000.25, 250.0
    vars(made).update(fields)
    return made


def raises() -> None:
    try:
        dict[str, str]()["geheimnis"]
    except KeyError as error:
        raise ValueError("geheimnis") from error


def raised() -> BaseException:
    """An error that quotes what was said, with a cause that does too."""
    with pytest.raises(ValueError, match="geheimnis") as caught:
        raises()
    return caught.value


def test_a_line_for_people() -> None:
    line = TextLines().format(record("%d words", 3, code="capacity", model="a b", empty=""))
    assert line == '2027-01-15T08:00:00.250Z INFO 3 words code=capacity model="a b" empty=""'


def test_a_line_for_programs() -> None:
    line = JsonLines().format(record("refused", code="capacity", streams=3))
    assert json.loads(line) == {
        "time": "2027-01-15T08:00:00.250Z",
        "level": "info",
        "logger": "turia.server",
        "message": "refused",
        "code": "capacity",
        "streams": 3,
    }


def test_of_an_exception_the_kind_and_the_place_are_told_and_not_the_message() -> None:
    text = TextLines().format(record("a batch failed", exception=raised()))
    assert "Traceback" in text
    assert text.index("ValueError") < text.index("KeyError")
    assert "in raises" in text
    told = json.loads(JsonLines().format(record("a batch failed", exception=raised())))
    assert told["error"] == "ValueError"
    # The lines of the program are shown; it is what stands behind `KeyError:` that is left out.
    for line in (text + told["traceback"]).splitlines():
        assert not line.startswith(("ValueError:", "KeyError:"))


def test_the_same_refusal_is_told_ten_times_a_minute_and_then_summed() -> None:
    sparingly = Sparingly(lines=2)
    assert [sparingly.left_out("capacity", now) for now in (0.0, 1.0, 2.0, 59.0)] == [0, 0, None, None]
    assert sparingly.left_out("key", 59.0) == 0, "another reason is told"
    assert [sparingly.left_out("capacity", now) for now in (61.0, 62.0, 63.0)] == [2, 0, None]


def test_an_alias_is_always_the_same_and_does_not_hold_the_name() -> None:
    assert alias("name") == alias("name") != alias("other")
    assert "name" not in alias("name")


def test_the_level_is_that_of_turia_and_others_only_warn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, ours = logging.getLogger(), logging.getLogger("turia")
    monkeypatch.setattr(root, "handlers", root.handlers[:])
    monkeypatch.setattr(root, "level", root.level)
    monkeypatch.setattr(ours, "level", ours.level)
    configure("debug", "text")
    configure("info", "json")
    logging.getLogger("turia.server").debug("not told")
    logging.getLogger("turia.server").info("told once")
    logging.getLogger("asyncio").info("not told")
    [line] = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == "told once"
    assert sys.stderr is not None


@pytest.mark.slow
def test_a_server_tells_what_happens_and_no_text_no_secret_and_no_name(tmp_path: Path) -> None:
    """Begin, refusal, resume, end and drain, as JSON."""
    with FakeServer(tmp_path, log_format="json", limits={"streams": 1, "streams_per_key": 1}) as server:
        with begin(server) as (begun, socket):
            send(socket, type="words", seq=1, words=["geheimnis"])
            receive(socket, "ack")
            assert server.post("/api/sessions")[0] == 503
            send(socket, type="words", seq=9, words=["geheimnis"])
            assert receive(socket, "error")["code"] == "gap"
        path = f"/api/sessions/{begun['session']}/tickets"
        assert server.post(path, Authorization="Bearer geheimer-schluessel")[0] == 403
        _, again = server.post(path, Authorization=f"Bearer {begun['secret']}")
        with open_socket(server) as socket:
            send(socket, type="hello", protocol=1, ticket=again["ticket"])
            receive(socket, "hello")
            send(socket, type="end", seq=2)
            receive(socket, "ack")
        assert server.kill(signal.SIGTERM) == 0
        text = server.log.read_text()
    for secret in ("geheim", begun["session"], begun["secret"], begun["ticket"], again["ticket"]):
        assert secret not in text
    told = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    name = alias(begun["session"])
    about = [line["message"] for line in told if line.get("session") == name]
    assert about[:2] == ["session begins", "speaker left"]
    assert {"session resumes", "session ends"} <= set(about)
    assert {line["code"] for line in told if line["message"] == "refused"} == {"capacity", "gap", "secret"}
    assert [line["message"] for line in told][:2] == ["starting", "ready"]
    assert [line["message"] for line in told if line["message"] in ("draining", "stopped")] == ["draining", "stopped"]
