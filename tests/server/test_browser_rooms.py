"""Rooms in a real browser: the audience's page, the overlay, and the speaker's page that puts sessions into them."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright")
from playwright.sync_api import Browser, Page, expect

from tests.server.servers import FakeServer
from tests.server.test_app import begin, receive, send
from tests.server.test_browser import (  # noqa: F401 (fixtures)
    axe_api,
    browser,
    complaints,
    new_context,
    type_words,
    watch_console,
    words,
)
from tests.server.test_room_routes import ask, hall  # noqa: F401 (a fixture)

PHONE = {"width": 360, "height": 740}


def open_page(browser: Browser, address: str, complaints: list[str], **options: object) -> Page:  # noqa: F811
    page = new_context(browser, **options).new_page()
    watch_console(page, complaints)
    page.goto(address)
    return page


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.slow
def test_the_audience_stays_from_before_the_first_word_to_the_next_session(
    browser: Browser,  # noqa: F811
    hall: FakeServer,  # noqa: F811
    complaints: list[str],  # noqa: F811
) -> None:
    ask(hall, "PUT", "/api/rooms/event", {"title": "The event"})
    viewer = open_page(browser, f"{hall.url}/room/event", complaints, viewport=PHONE, locale="fr-FR")
    expect(viewer.locator("#state")).to_have_text("Not begun yet")
    expect(viewer.get_by_role("heading", name="The event").last).to_be_visible()
    expect(viewer.locator("#lobby .qr")).to_be_visible()
    expect(viewer.locator("#lobby .address")).to_have_text(f"127.0.0.1:{hall.port}/room/event")
    assert fits(viewer)
    overlay = open_page(browser, f"{hall.url}/room/event/overlay?language=en", complaints)
    with begin(hall, room="event", also=["de-fr"]) as (begun, socket):
        expect(viewer.locator("#state")).to_have_text("Waiting for the speaker")
        # What the browser's user reads, without a choice.
        expect(viewer.locator("#language")).to_have_value("fr")
        send(socket, type="words", seq=1, words=["ka", "le."])
        expect(viewer.locator("#target .word")).to_have_text(["ka", "le"])
        expect(viewer.locator("#lobby")).to_be_hidden()
        expect(overlay.locator("#lines span")).to_have_text(["ka", "le"])
        expect(viewer.locator("#target-title")).to_have_text("French")
        viewer.locator("#language").select_option("en")
        expect(viewer.locator("#target-title")).to_have_text("English")
        expect(viewer.locator("#target .word")).to_have_text(["ka", "le"])
        save = viewer.locator("#save a").first.get_attribute("href")
        assert save == f"/api/sessions/{begun['session']}/transcript.txt?side=target"
        assert fits(viewer)
        assert axe_api.Axe().run(viewer).response["violations"] == []
        # The speaker's machine dies, without an end, and begins again.
    with begin(hall, room="event", take_room=True, also=["de-fr"]) as (begun, socket):
        send(socket, type="words", seq=1, words=["mi."])
        expect(viewer.locator("#target .word")).to_have_text(["ka", "le", "mi"])
        expect(viewer.locator("#target hr")).to_have_count(1)
        expect(viewer.locator(".waiting")).to_have_count(0)
        expect(overlay.locator("#lines span")).to_have_text(["mi"])
        # Sentences are counted anew in each session.
        change = {"type": "correct", "sentence": 0, "words": 1, "text": "Mia"}
        assert ask(hall, "POST", f"/api/sessions/{begun['session']}/steer", change)[0] == 202
        expect(overlay.locator("#lines")).to_have_text("Mia", use_inner_text=True)
        send(socket, type="end", seq=2)
        receive(socket, "ack")
        expect(viewer.locator("#over")).to_be_visible()
        stage, over = (viewer.locator(part).bounding_box() for part in ("#stage", "#over"))
        assert stage is not None
        assert over is not None
        assert stage["y"] + stage["height"] <= over["y"], "captions and notice are not covered"
        # More words than the overlay keeps.
    with begin(hall, room="event") as (_, socket):
        send(socket, type="words", seq=1, words=[f"w{i}." for i in range(100)])
        expect(overlay.locator("#lines span").last).to_have_text("w99")
        assert overlay.locator("#lines span").count() <= 60
        expect(viewer.locator("#over")).to_be_hidden()
        # It has one language alone now.
        expect(viewer.locator("#languages")).to_be_hidden()
    ask(hall, "DELETE", "/api/rooms/event")
    expect(viewer.locator("#state")).to_have_text("There is no such room")
    assert complaints == []


@pytest.mark.slow
def test_the_speaker_chooses_a_room_and_more_languages(
    browser: Browser,  # noqa: F811
    hall: FakeServer,  # noqa: F811
    complaints: list[str],  # noqa: F811
) -> None:
    # The address may ask for a further delay.
    page = open_page(browser, f"{hall.url}/?latency=2", complaints, viewport=PHONE)
    expect(page.locator("#model option")).to_have_count(4)
    page.locator("#share summary").click()
    page.locator("#room").select_option(label="New room…")
    page.locator("#room-name").fill("Großer Saal")
    page.get_by_role("button", name="Make").click()
    # There is something to share before anybody has spoken.
    expect(page.locator("#watch-link")).to_have_attribute("href", "/room/grosser-saal")
    expect(page.locator("#room-qr")).to_be_visible()
    assert fits(page)
    page.keyboard.press("Escape")
    page.locator("#also summary").click()
    page.get_by_role("checkbox", name="French").check()
    page.keyboard.press("Escape")
    type_words(page, "ka le. ")
    expect(page.locator("#target .word")).to_have_count(2)
    room = ask(hall, "GET", "/api/rooms/grosser-saal")[1]
    assert room["title"] == "Großer Saal"
    assert {item["language"] for item in room["languages"]} == {"en", "fr", "en-x-k2", "fr-x-k2"}
    # Loaded again, the page knows its room.
    page.reload()
    expect(page.locator("#target .word")).to_have_count(2)
    expect(page.locator("#room")).to_have_value("grosser-saal")
    # Somebody else would like to have it.
    other = open_page(browser, f"{hall.url}/?room=grosser-saal", complaints)
    expect(other.locator("#room")).to_have_value("grosser-saal")
    type_words(other, "mi. ")
    other.get_by_role("button", name="Leave it").click()
    expect(other.locator("#status")).to_have_text("Somebody else speaks in this room")
    assert ask(hall, "GET", "/api/rooms/grosser-saal")[1]["session"] == room["session"]
    # A session that runs leaves the room, and comes back.
    page.locator("#share summary").click()
    page.locator("#room").select_option("")
    expect(page.locator("#watch-link")).to_have_attribute("href", f"/watch/{room['session']}")
    assert ask(hall, "GET", "/api/rooms/grosser-saal")[1]["state"] == "waiting"
    page.locator("#room").select_option("grosser-saal")
    expect(page.locator("#watch-link")).to_have_attribute("href", "/room/grosser-saal")
    # The browser tells of the refused request itself.
    assert [text for text in complaints if "409" not in text] == []
