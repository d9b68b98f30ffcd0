"""The operator's page in a real browser, over a session that a program feeds; and what the audience sees of it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright")
from playwright.sync_api import Browser, expect

from tests.server.servers import FakeServer
from tests.server.test_app import begin, receive, send
from tests.server.test_browser import browser, new_context  # noqa: F401 (a fixture)
from tests.server.test_room_routes import ask

pytestmark = pytest.mark.slow


def test_an_operator_corrects_and_steers_and_the_audience_sees_it(browser: Browser, server: FakeServer) -> None:  # noqa: F811
    with begin(server) as (begun, socket):
        send(socket, type="words", seq=1, words=["ka", "le.", "mi", "no.", "pu"])
        receive(socket, "ack")
        context = new_context(browser)
        operator, watch, overlay = (context.new_page() for _ in range(3))
        operator.goto(f"{server.url}/operate/{begun['session']}#{begun['secret']}")
        watch.goto(f"{server.url}/watch/{begun['session']}")
        overlay.goto(f"{server.url}/overlay/{begun['session']}")
        lines, shown = operator.locator("#lines li"), watch.locator("#target p")
        expect(lines.locator(".said")).to_have_text(["ka le", "mi no"])
        assert "#" not in operator.url, "the secret is not to be seen"
        lines.nth(0).hover()
        lines.nth(0).get_by_role("button", name="Edit").click()
        operator.get_by_label("Text of the line").fill("Kalle speaks.")
        operator.keyboard.press("Enter")
        expect(lines.nth(0).locator(".said")).to_have_text("Kalle speaks.")
        expect(lines.nth(0).locator(".before")).to_have_text("ka le")
        expect(shown.nth(0)).to_have_text("Kalle speaks.", use_inner_text=True)
        expect(overlay.locator("#lines")).to_contain_text("Kalle speaks. mi no", use_inner_text=True)
        lines.nth(1).hover()
        lines.nth(1).get_by_role("button", name="Hide").click()
        expect(lines.nth(1).locator(".said")).to_have_text("Hidden")
        expect(shown.nth(1)).to_have_text("", use_inner_text=True)
        operator.get_by_label("A line to put in").fill("[Applause]")
        operator.get_by_role("button", name="Put in").click()
        expect(watch.locator("#target p.inserted")).to_have_text("[Applause]")
        operator.get_by_role("button", name="End sentence").click()
        expect(lines.locator(".said")).to_have_text(["Kalle speaks.", "Hidden", "[Applause]", "pu"])
        operator.get_by_role("button", name="Pause").click()
        for page in (operator, watch):
            expect(page.locator("#status")).to_have_text("Paused")
        operator.get_by_role("button", name="Go on").click()
        expect(watch.locator("#status")).to_have_text("Live")
        # Whoever comes later sees the same.
        watch.reload()
        expect(watch.locator("#target p:visible")).to_have_text(
            ["Kalle speaks.", "[Applause]", "pu"], use_inner_text=True
        )
        operator.get_by_text("Glossary").click()
        operator.get_by_label("Terms and translations").fill("no, pu, never")
        operator.get_by_role("button", name="Use these terms").click()
        expect(operator.locator("#trouble")).to_have_text(
            "glossary, line 1: case is 'never', expected any, exact or nothing"
        )
        operator.get_by_label("Terms and translations").fill("no, pu")
        operator.get_by_role("button", name="Use these terms").click()
        expect(operator.locator("#terms")).to_have_text("1 term is in use")
        operator.get_by_role("button", name="Finish").click()
        operator.get_by_role("button", name="Really finish?").click()
        expect(operator.locator("#status")).to_have_text("Finished")
        expect(watch.locator("#status")).to_have_text("Finished")
        context.close()


def test_what_is_hidden_or_long_past_reaches_nobody(browser: Browser, server: FakeServer) -> None:  # noqa: F811
    with begin(server, k=1) as (begun, socket):
        address = f"/api/sessions/{begun['session']}/steer"

        def steer(**message: object) -> None:
            assert server.post(address, message)[0] == 202

        context = new_context(browser)
        watch, overlay = context.new_page(), context.new_page()
        watch.goto(f"{server.url}/watch/{begun['session']}")
        send(socket, type="words", seq=1, words=["ka", "le", "mi", "no"])
        expect(watch.locator("#target .word").first).to_have_text("ka")
        # Of the sentence that is still spoken; some of the words are not written yet.
        steer(type="correct", sentence=0, words=3, text="")
        steer(type="insert", before=0, text="[Applause]")
        send(socket, type="words", seq=5, words=["pu.", *(f"w{i}." for i in range(100))])
        expect(watch.locator("#target")).to_contain_text("w97")
        expect(watch.locator("#target p:visible").nth(1)).to_have_text("no pu", use_inner_text=True)
        # Loaded only now, or told only now: neither shows what was put in a hundred lines before.
        overlay.goto(f"{server.url}/overlay/{begun['session']}?lines=3")
        expect(overlay.locator("#lines")).to_contain_text("w97")
        steer(type="insert", before=1, text="[Music]")
        steer(type="insert", before=101, text="[Laughter]")
        expect(overlay.locator("#lines")).to_contain_text("[Laughter]")
        assert not {"[Applause]", "[Music]"} & set(overlay.locator("#lines span").all_inner_texts())
        context.close()


def test_what_an_operator_hides_is_not_read_out(browser: Browser, server: FakeServer) -> None:  # noqa: F811
    with begin(server, k=1) as (begun, socket):
        context = new_context(browser)
        watch = context.new_page()
        watch.goto(f"{server.url}/watch/{begun['session']}")
        send(socket, type="words", seq=1, words=["ka", "le", "mi", "no"])
        expect(watch.locator("#target .word").first).to_have_text("ka")
        change = {"type": "correct", "sentence": 0, "words": 1, "text": "Kalle"}
        assert server.post(f"/api/sessions/{begun['session']}/steer", change)[0] == 202
        expect(watch.locator("#target .corrected")).to_have_text("Kalle")
        send(socket, type="pause", seq=5)
        expect(watch.locator("#announcer")).to_have_text("Kalle le mi no")
        context.close()


def test_words_that_come_while_a_line_is_corrected_are_not_lost(browser: Browser, server: FakeServer) -> None:  # noqa: F811
    with begin(server, k=1) as (begun, socket):
        context = new_context(browser)
        operator, watch = context.new_page(), context.new_page()
        operator.goto(f"{server.url}/operate/{begun['session']}#{begun['secret']}")
        watch.goto(f"{server.url}/watch/{begun['session']}")
        send(socket, type="words", seq=1, words=["ka", "le"])
        said = operator.locator("#lines .said")
        expect(said).to_have_text(["ka le"])
        operator.get_by_role("button", name="Edit").click()
        operator.get_by_label("Text of the line").fill("Kalle")
        send(socket, type="words", seq=3, words=["mi", "no."])
        expect(said).to_have_text(["ka le mi no"])
        operator.get_by_role("button", name="Save").click()
        expect(said).to_have_text(["Kalle mi no"])
        expect(watch.locator("#target p")).to_have_text("Kalle mi no", use_inner_text=True)
        context.close()


def test_a_correction_may_come_before_the_first_word(browser: Browser, server: FakeServer) -> None:  # noqa: F811
    with begin(server, k=1) as (begun, socket):
        context = new_context(browser)
        watch = context.new_page()
        watch.goto(f"{server.url}/watch/{begun['session']}")
        expect(watch.locator("#status")).to_have_text("Live")
        change = {"type": "correct", "sentence": 0, "words": 1, "text": "Kalle"}
        assert server.post(f"/api/sessions/{begun['session']}/steer", change)[0] == 202
        send(socket, type="words", seq=1, words=["ka", "le."])
        expect(watch.locator("#target p")).to_have_text("Kalle le", use_inner_text=True)
        context.close()


def test_the_operators_page_of_a_room_stays_from_session_to_session(browser: Browser, tmp_path: Path) -> None:  # noqa: F811
    table = tmp_path / "terms.tsv"
    table.write_text("ka\tmi\n")
    given = {"models": ("de-en", "de-fr"), "rooms": ["hall=Main hall"], "glossaries": [f"de-en={table}"]}
    with FakeServer(tmp_path, **given) as server:
        context = new_context(browser)
        page = context.new_page()
        page.goto(f"{server.url}/room/hall/operate")
        expect(page.locator("#empty")).to_have_text("Not begun yet")
        lines = page.locator("#lines .said")
        for name in ("leta.", "nonde."):
            with begin(server, k=1, room="hall", also=["de-fr"]) as (_, socket):
                send(socket, type="words", seq=1, words=[name])
                expect(lines).to_have_text([name.rstrip(".")])
                page.get_by_role("button", name="Hide").click()
                expect(lines).to_have_text(["Hidden"])
                # Another language has lines of its own.
                page.locator("#language").select_option("fr")
                expect(lines).to_have_text([name.rstrip(".")])
                page.locator("#language").select_option("en")
                expect(lines).to_have_text(["Hidden"])
                send(socket, type="end", seq=2)
                receive(socket, "ack")
        # A table that is spoilt now is told of now, though nobody speaks.
        table.write_text("ka\tmi\tnever\n")
        expect(page.locator("#glossary-trouble")).to_contain_text("terms.tsv, line 1: case is 'never'", timeout=20_000)
        assert str(tmp_path) not in page.locator("#glossary-trouble").inner_text()
        assert "a glossary cannot be read again" in server.log.read_text()
        ask(server, "DELETE", "/api/rooms/hall/session")
        expect(page.locator("#empty")).to_have_text("Not begun yet")
        context.close()
