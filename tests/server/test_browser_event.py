"""What an operator meets at an event, in a real browser: bad files, a dead microphone, two tabs, a change of direction."""

from __future__ import annotations

from datetime import datetime

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright")
from playwright.sync_api import Browser, Page, expect

from tests.server.servers import FakeServer
from tests.server.test_browser import (  # noqa: F401 (fixtures)
    FAKE_RECOGNITION,
    browser,
    complaints,
    new_context,
    page,
    type_words,
    words,
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bytes(range(256)), "a.bin is not a text file"),
        ("größer".encode("latin-1"), "a.bin is not text in UTF-8; save it as UTF-8"),
        ("ka".encode("utf-16"), "a.bin is not text in UTF-8; save it as UTF-8"),
        (b" \n", "a.bin has no words"),
    ],
)
def test_a_file_that_is_no_text_is_refused(page: Page, content: bytes, said: str) -> None:  # noqa: F811
    page.locator("#file").set_input_files({"name": "a.bin", "mimeType": "text/plain", "buffer": content})
    expect(page.locator("#status")).to_have_text(said)
    assert words(page, "source") == []


def test_a_microphone_without_sound_says_so(browser: Browser, server: FakeServer) -> None:  # noqa: F811
    context = new_context(browser)
    context.add_init_script(FAKE_RECOGNITION)
    page = context.new_page()  # noqa: F811
    page.clock.install(time=datetime(2026, 1, 1))
    page.goto(server.url)
    page.get_by_role("tab", name="Microphone").click()
    page.clock.pause_at(datetime(2026, 1, 2))
    page.get_by_role("button", name="Start listening").click()
    page.clock.fast_forward(4900)
    expect(page.locator("#unheard")).to_be_hidden()
    page.clock.fast_forward(200)
    expect(page.locator("#unheard")).to_be_visible()
    page.evaluate("recogniser.dispatchEvent(new Event('soundstart'))")
    expect(page.locator("#unheard")).to_be_hidden()
    page.clock.fast_forward(5100)
    expect(page.locator("#unheard")).to_be_visible()
    page.get_by_role("button", name="Stop listening").click()
    expect(page.locator("#unheard")).to_be_hidden()
    context.close()
