"""Errors in the log: where, of which kind, how often; never what was said."""

from __future__ import annotations

import asyncio

import pytest

from turia.server.tracebacks import LoopErrors, described


def failed() -> ValueError:
    try:
        try:
            int("geheimnis")
        except ValueError as cause:
            raise ValueError("geheimnis again") from cause
    except ValueError as error:
        found = error
    return found


def test_a_traceback_has_places_and_kinds_but_no_texts() -> None:
    text = described(failed())
    assert "geheimnis again" not in text.replace('raise ValueError("geheimnis again")', "")
    assert text.count("ValueError\nled to:\n") == 1
    assert text.endswith("ValueError")
    assert "in failed" in text


def test_errors_of_the_loop_are_told_once_a_minute_and_without_arguments(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    loop, handle = asyncio.new_event_loop(), LoopErrors()
    accept = {"message": "socket.accept() out of system resource", "exception": OSError(24, "Too many open files")}
    for _ in range(5):
        handle(loop, accept)
    handle(loop, {"message": "Exception in callback f(words=['geheimnis'])", "exception": KeyError("geheimnis")})
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
    assert "Too many open files" in caplog.text
    now += 61
    handle(loop, accept)
    assert vars(caplog.records[-1])["left_out"] == 4
    assert "geheimnis" not in caplog.text
    loop.close()
