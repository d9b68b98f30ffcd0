"""The page that replays: its routes, and what it plays in a browser."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.server.servers import FakeServer
from turia.formats.replay import moments
from turia.protocol.client import Speaker
from turia.server.replay import replay_app

pytest.importorskip("playwright.sync_api", reason="needs playwright")
from playwright.sync_api import Browser, expect

from tests.server.test_browser import browser, new_context, watch_console, words  # noqa: F401 (a fixture)


def session_of(server: FakeServer) -> str:
    async def speak() -> str:
        async with Speaker(server.url, k=1, punctuation=True) as speaker:
            await speaker.say("Ka", "le.", "mi")
            await speaker.end()
            async for _ in speaker.events():
                pass
            return speaker.session

    # Playwright has a loop of its own in this thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, speak()).result()


def test_a_server_of_one_file_gives_it_to_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("{}\n")
    client = TestClient(replay_app(path), base_url="http://127.0.0.1:8000")
    assert client.get("/recorded.jsonl").text == "{}\n"
    page = client.get("/")
    assert "Machine translation" in page.text
    assert page.headers["Content-Security-Policy"].startswith("default-src 'self';")
    # As a page of another site would ask that has a name for this machine.
    assert client.get("/recorded.jsonl", headers={"Host": "evil.example"}).status_code == 400


@pytest.mark.slow
def test_a_session_is_recorded_and_replayed(browser: Browser, server: FakeServer) -> None:  # noqa: F811
    name = session_of(server)
    status, text = server.get(f"/api/sessions/{name}/transcript.jsonl")
    assert status == 200
    recorded = [moment.event for moment in moments(text.splitlines())]
    assert [event["word"] for event in recorded if event["type"] == "source"] == ["Ka", "le.", "mi"]
    assert recorded[-1]["type"] == "end"
    _, headers = server.headers(f"/api/sessions/{name}/transcript.jsonl")
    assert headers["content-type"].startswith("application/jsonl")
    assert headers["content-disposition"] == 'attachment; filename="session.jsonl"'

    complaints: list[str] = []
    context = new_context(browser)
    page = context.new_page()
    watch_console(page, complaints)
    page.goto(f"{server.url}/replay/{name}?speed=3")
    expect(page.locator("#status")).to_have_text("Finished")
    written = [event["word"] for event in recorded if event["type"] == "write"]
    assert (words(page, "source"), words(page, "target")) == (["Ka", "le.", "mi"], written)
    assert page.locator("#speed").input_value() == "3"
    # Back to the beginning, where nothing has been written, and to the end again.
    page.locator("#place").evaluate("it => { it.value = 0; it.dispatchEvent(new Event('input')) }")
    expect(page.locator("#target .word")).to_have_count(len([m for m in moments(text.splitlines())
        if m.seconds == 0 and m.event["type"] == "write"]))  # fmt: skip
    page.locator("#place").evaluate("it => { it.value = 1; it.dispatchEvent(new Event('input')) }")
    assert words(page, "target") == written
    page.goto(f"{server.url}/replay/nobody")
    expect(page.locator("#empty")).to_have_text("No such session")
    assert [text for text in complaints if "404" not in text] == []
    context.close()


TRACE = [
    {"type": "stream", "version": 1, "model": "de-en", "gamma": 1.0},
    {"type": "write", "word": "Good", "index": 0, "read": 1, "sentence": 0, "reason": "policy", "ms": 9000.0},
    {"type": "write", "word": "day.", "index": 1, "read": 2, "sentence": 0, "reason": "policy", "ms": 69000.0},
    {"type": "sentence", "sentence": 0, "source_words": 2, "target_words": 2, "reason": "end"},
    {"type": "end", "source_words": 2, "target_words": 2},
]


@pytest.mark.slow
def test_a_file_is_played_paused_and_moved(browser: Browser, server: FakeServer) -> None:  # noqa: F811
    context = new_context(browser)
    page = context.new_page()
    page.goto(f"{server.url}/replay")
    page.locator("#file").set_input_files(
        {"name": "a.jsonl", "mimeType": "application/jsonl", "buffer": b"no trace at all"}
    )
    expect(page.locator("#empty")).to_contain_text("line 1 is not JSON")
    lines = "".join(json.dumps(record) + "\n" for record in TRACE)
    page.locator("#file").set_input_files(
        {"name": "a.jsonl", "mimeType": "application/jsonl", "buffer": lines.encode()}
    )
    page.get_by_role("button", name="Pause").click()
    # The second word comes after a minute; nothing was spoken that could be shown.
    assert words(page, "target") == ["Good"]
    assert [moment.seconds for moment in moments(lines.splitlines())] == [0.0, 60.0, 60.0, 60.0]
    expect(page.locator("#time")).to_have_text("0:00 / 1:00")
    expect(page.locator("section.source")).to_be_hidden()
    page.locator("#place").evaluate("it => { it.value = 1; it.dispatchEvent(new Event('input')) }")
    assert words(page, "target") == ["Good", "day."]
    expect(page.locator("#time")).to_have_text("1:00 / 1:00")
    context.close()
