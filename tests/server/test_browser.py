"""The pages in a real browser: Debian's Chromium, driven by Playwright. Skipped, saying so, where there is none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.formats.cues import parse
from tests.server.backups import going_back, say_two_words
from tests.server.servers import FakeServer

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
axe_api = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
# The one without windows does in half the time what the other does.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route, expect  # noqa: E402

pytestmark = pytest.mark.slow

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


def chromium() -> str:
    """Where the browser is. A test that asks for it is skipped where there is none.

    This file does not skip itself: others could not import its fixtures then.
    """
    if CHROMIUM is None:
        pytest.skip("needs Debian's chromium, which is not here")
    return CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = chromium()
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the console of a page said against it."""
    return []


@pytest.fixture
def page(browser: Browser, server: FakeServer, complaints: list[str]) -> Iterator[Page]:
    context = new_context(browser, viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    watch_console(opened, complaints)
    opened.goto(server.url)
    expect(opened.locator("#model option")).to_have_count(2)
    yield opened
    context.close()


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """As patient as what is expected, on a busy machine."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    return context


def watch_console(page: Page, complaints: list[str]) -> None:
    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))


def type_words(page: Page, text: str) -> None:
    page.locator("#typed").press_sequentially(text)


def words(page: Page, side: str) -> list[str]:
    return page.locator(f"#{side} .word").all_inner_texts()


def test_the_sample_speech_plays(page: Page, complaints: list[str]) -> None:
    page.get_by_role("button", name="Play a sample speech").click()
    expect(page.locator("#target .word").nth(8)).to_be_visible()
    expect(page.locator("#status")).to_have_text("Live")
    expect(page.locator("#lag")).to_contain_text("word")
    said = words(page, "source")
    assert said[:2] == ["Frau", "Präsidentin,"]
    expect(page.locator("#source .waiting").first).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for button in ("Pause", "Stop", "Finish"):
        box = page.get_by_role("button", name=button).bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 360
    for menu in ("Save", "Share", "View"):
        page.locator("summary", has_text=menu).click()
        box = page.locator("details[open] .sheet").bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 360
        assert box["y"] >= 0
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Stop").click()
    for tab in ("Microphone", "File", "Recogniser", "Text"):
        page.get_by_role("tab", name=tab).click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        box = page.locator(".panel:visible").bounding_box()
        assert box is not None
        assert box["height"] < 80
    assert complaints == []


def test_typed_words_are_translated_and_stay(page: Page, complaints: list[str]) -> None:
    type_words(page, "ka le mi no pu. ")
    expect(page.locator("#target .word")).to_have_count(5)
    first = page.locator("#target .word").first.bounding_box()
    type_words(page, "ra ka le mi no pu ra. ")
    expect(page.locator("#target .word")).to_have_count(12)
    assert page.locator("#target .word").first.bounding_box() == first
    assert words(page, "target")[:5] == ["ka", "le", "mi", "no", "pu"]
    assert page.locator("#source .waiting").count() == 0
    expect(page.locator("#announcer")).to_have_text("ra ka le mi no pu ra")
    assert complaints == []


def test_the_first_words_are_finished(page: Page, complaints: list[str]) -> None:
    page.locator("#typed").fill("ka")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#target .word")).to_have_count(1)
    assert complaints == []


def test_a_file_of_one_word_is_finished(page: Page, complaints: list[str]) -> None:
    page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"ka"})
    expect(page.locator("#target .word")).to_have_count(1)
    assert complaints == []


def test_what_is_said_and_chosen_while_a_session_begins_keeps_its_order(page: Page, complaints: list[str]) -> None:
    held: list[Route] = []
    page.route("**/api/sessions", lambda route: held.append(route))
    with page.expect_request("**/api/sessions"):
        type_words(page, "ka le")
        page.get_by_role("button", name="Send").click()
    page.locator("#k").fill("1")
    type_words(page, "mi ")
    page.locator("#model").select_option("en-de")
    type_words(page, "no ")
    held[0].continue_()
    expect(page.locator("#target .word")).to_have_count(4)
    assert words(page, "source") == ["ka", "le", "mi", "no"]
    # The first sentence ends with the pause, the second with the change.
    assert page.locator("#target p").all_inner_texts() == ["ka le", "mi", "no"]
    expect(page.locator("#target h3")).to_have_text("German")
    assert complaints == []


def test_k_and_direction_change_while_it_runs(page: Page, complaints: list[str]) -> None:
    type_words(page, "ka le. ")
    expect(page.locator("#target .word")).to_have_count(2)
    page.locator("#k").fill("1")
    expect(page.locator("#k-shown")).to_have_text("1 word")
    # With the next sentence each word comes at once.
    type_words(page, "mi no ")
    expect(page.locator("#target .word")).to_have_count(4)
    page.locator("#model").select_option("en-de")
    expect(page.locator("#source .waiting")).to_have_count(0)
    type_words(page, "pu ")
    expect(page.locator("#target .word")).to_have_count(5)
    # The title is above English text; German has a heading of its own, and the title when it has come to the top.
    expect(page.locator("#target-title")).to_have_text("English")
    expect(page.locator("#target h3")).to_have_text("German")
    page.set_viewport_size({"width": 1280, "height": 400})
    page.locator("#target").evaluate("it => { it.style.paddingBottom = '999px'; it.scrollTop = 999 }")
    expect(page.locator("#target-title")).to_have_text("German")
    # What stands keeps its language.
    languages = "[...document.querySelectorAll('#target p')].map((it) => it.lang)"
    assert set(page.evaluate(languages)[:-1]) == {"en"}
    assert page.evaluate(languages)[-1] == "de"
    assert complaints == []


FAKE_RECOGNITION = """
window.SpeechRecognition = class extends EventTarget {
  start() { window.recogniser = this; }
  // As in browsers: what was heard last is told after it was stopped.
  stop() {
    setTimeout(() => {
      if (window.lastHeard) hear(...window.lastHeard);
      this.dispatchEvent(new Event("end"));
    }, 100);
  }
};
window.hear = (index, isFinal, transcript) => {
  const results = Array(index + 1).fill(null);
  results[index] = Object.assign([{ transcript }], { isFinal });
  window.recogniser.dispatchEvent(Object.assign(new Event("result"), { resultIndex: index, results }));
};
"""


@pytest.fixture
def listening(browser: Browser, server: FakeServer, complaints: list[str]) -> Iterator[Page]:
    """A page with a recogniser that hears what it is told."""
    context = new_context(browser)
    context.add_init_script(FAKE_RECOGNITION)
    page = context.new_page()
    watch_console(page, complaints)
    page.goto(server.url)
    page.get_by_role("tab", name="Microphone").click()
    page.get_by_role("button", name="Start listening").click()
    yield page
    context.close()


def test_a_microphone_speaks_words_that_its_recogniser_keeps(listening: Page, complaints: list[str]) -> None:
    page = listening
    page.evaluate("hear(0, false, 'ka le')")
    page.evaluate("hear(0, false, 'ka mi no')")
    page.evaluate("hear(0, false, 'ka mi no pu')")
    # Two hypotheses agree on two words; the third may still change.
    expect(page.locator("#source .word")).to_have_count(2)
    page.evaluate("hear(0, true, 'ka mi ra')")
    expect(page.locator("#target .word")).to_have_count(3)
    page.evaluate("hear(1, false, 'le so')")
    page.get_by_role("button", name="Stop listening").click()
    expect(page.locator("#target .word")).to_have_count(5)
    assert words(page, "source") == ["ka", "mi", "ra", "le", "so"]
    assert complaints == []


def test_what_a_microphone_may_still_revise_is_grey(listening: Page, complaints: list[str]) -> None:
    page = listening
    page.evaluate("hear(0, true, 'ka')")
    expect(page.locator("#target .word")).to_have_count(1)
    page.evaluate("hear(1, false, 'le mi no pu ra')")
    expect(page.locator("#source .tentative")).to_have_text(["le", "mi", "no", "pu", "ra"])
    page.evaluate("hear(1, false, 'so')")
    expect(page.locator("#source .tentative")).to_have_text(["so"])
    assert words(page, "source") == ["ka"]
    page.evaluate("hear(1, true, 'so')")
    expect(page.locator("#target .word")).to_have_text(["ka", "so"])
    expect(page.locator(".tentative")).to_have_count(0)
    assert complaints == []


@pytest.mark.parametrize("stopped", [False, True], ids=["listening", "stopped just before"])
def test_the_last_words_of_a_microphone_are_not_lost_when_a_session_is_finished(
    listening: Page, complaints: list[str], stopped: bool
) -> None:
    page = listening
    page.evaluate("hear(0, true, 'ka mi')")
    expect(page.locator("#target .word")).to_have_count(2)
    page.evaluate("window.lastHeard = [1, true, 'le so']")
    if stopped:
        page.evaluate("document.getElementById('mic').click(); document.getElementById('finish').click()")
    else:
        page.get_by_role("button", name="Finish").dblclick(no_wait_after=True)
    expect(page.get_by_role("button", name="New session")).to_be_enabled()
    expect(page.locator("#status")).to_have_attribute("data-state", "ended")
    assert words(page, "source") == ["ka", "mi", "le", "so"]
    expect(page.locator("#target .word")).to_have_count(4)
    assert complaints == []


def test_a_browser_without_speech_recognition_says_so(browser: Browser, server: FakeServer) -> None:
    context = new_context(browser)
    context.add_init_script("delete window.SpeechRecognition; delete window.webkitSpeechRecognition")
    page = context.new_page()
    page.goto(server.url)
    page.get_by_role("tab", name="Microphone").click()
    expect(page.get_by_role("button", name="Start listening")).to_be_disabled()
    expect(page.locator("#mic-hint")).to_contain_text("no speech recognition")
    context.close()


FAKE_SOCKETS = """
window.fetch = async () => new Response('{"ticket":"t"}', { status: 201 });
window.sockets = [];
window.WebSocket = class extends EventTarget {
  constructor() { super(); this.sent = []; sockets.push(this); }
  send(text) { this.sent.push(JSON.parse(text)); }
};
window.tell = (message) => {
  sockets.at(-1).dispatchEvent(new MessageEvent("message", { data: JSON.stringify(message) }));
};
window.welcome = () => tell({ type: "hello", last_input: 0, ms: 0, limits: { unacknowledged: 3 } });
window.spoken = (letters) => [...letters].map((letter) => ({ type: "words", words: [letter] }));
window.until = async (met) => { while (!met()) await new Promise((done) => setTimeout(done)); };
window.connected = async (states) => {
  const { Connection } = await import("/static/connection.js");
  const nothing = () => {};
  const on = { events: nothing, clock: nothing, kept: nothing, status: (state) => states.push(state) };
  const connection = new Connection("s", "secret", on);
  await until(() => sockets.length === 1);
  welcome();
  return connection;
};
"""


def test_a_page_that_nobody_uses_rests_until_somebody_does(page: Page) -> None:
    page.evaluate(f"() => {{ {FAKE_SOCKETS} }}")
    states, resting, sent = page.evaluate("""async () => {
      const states = [];
      const connection = await connected(states);
      tell({ type: "warning", code: "idle" });
      connection.stay();
      tell({ type: "pong" });
      tell({ type: "error", code: "idle", retry: true });
      sockets[0].dispatchEvent(new Event("close"));
      await new Promise((done) => setTimeout(done, 600));
      const resting = sockets.length;
      connection.send(...spoken("k"));
      await until(() => sockets.length === 2);
      welcome();
      return [states, resting, sockets.map((socket) => socket.sent.map((message) => message.type))];
    }""")
    assert states == ["connecting", "live", "warned", "live", "asleep", "connecting", "live"]
    assert resting == 1
    assert sent == [["ping"], ["words"]]


def test_a_page_sends_no_more_than_the_server_takes(page: Page) -> None:
    page.evaluate(f"() => {{ {FAKE_SOCKETS} }}")
    sent = page.evaluate("""async () => {
      const connection = await connected([]);
      connection.send(...spoken("abcdef"));
      connection.send(...spoken("g"));
      tell({ type: "ack", seq: 2 });
      tell({ type: "ack", seq: 5 });
      return sockets[0].sent.map((message) => [message.seq, message.words.join("")]);
    }""")
    assert sent == [[1, "abc"], [4, "de"], [6, "fg"]]


def test_the_longest_words_fit_into_messages(page: Page) -> None:
    page.evaluate(f"() => {{ {FAKE_SOCKETS} }}")
    sizes = page.evaluate("""async () => {
      const connection = await connected([]);
      tell({ type: "hello", last_input: 0, ms: 0, limits: { unacknowledged: 1000 } });
      connection.send(...Array(200).fill({ type: "words", words: ["\U0001f600".repeat(200)] }));
      return sockets[0].sent.map((message) => new Blob([JSON.stringify(message)]).size);
    }""")
    assert max(sizes) < 65_536
    assert len(sizes) == 4


PLAYED = """async () => {
  let now = 0, tick;
  performance.now = () => now;
  window.setInterval = (step) => { tick = step; return 1; };
  const { Player } = await import("/static/sources.js");
  const said = [];
  let rate = 60;
  const player = new Player("a ".repeat(100), () => rate, (words) => said.push(words.length), () => {});
  player.play();
  const pass = (seconds) => { for (let i = 0; i < 20 * seconds; i += 1) { now += 50; tick(); } };
  pass(10);
  const slow = player.at;
  rate = 300;
  pass(10);
  return [slow, player.at, Math.max(...said)];
}"""


def test_the_rate_of_a_file_changes_while_it_is_played(page: Page) -> None:
    slow, quick, most = page.evaluate(PLAYED)
    assert (slow, quick, most) == (11, 61, 1)


def test_punctuation_is_trusted_where_there_is_some(page: Page) -> None:
    ask = """async (text) => (await import("/static/sources.js")).isPunctuated(text)"""
    assert page.evaluate(ask, "Ka le mi. No pu ra!")
    assert page.evaluate(ask, "ka le „mi.“ " + "no " * 40)
    assert not page.evaluate(ask, "ka le mi no pu ra")
    assert not page.evaluate(ask, "ka 3.5 le, mi: no")
    assert not page.evaluate(ask, "ka le. " + "no " * 80)


def test_what_is_pasted_becomes_words_that_the_server_takes(page: Page, complaints: list[str]) -> None:
    paste = """text => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text", text);
      document.getElementById("typed").focus();
      document.getElementById("typed").dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
    }"""
    page.evaluate(paste, "ka\nle\x1cmi " + "no" * 150 + "\n")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#source .word")).to_have_count(5)
    assert words(page, "source") == ["ka", "le", "mi", "no" * 100, "no" * 50]
    expect(page.locator("#status")).to_have_text("Live")
    # A speech is played, not poured.
    page.evaluate(paste, "ka le mi. " * 10)
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    assert complaints == []


def test_text_from_outside_is_only_text(page: Page, complaints: list[str]) -> None:
    type_words(page, "<img/src=x/onerror=alert(1)> <b>ka</b> \u202eka ")
    expect(page.locator("#source .word")).to_have_count(3)
    assert words(page, "source")[:2] == ["<img/src=x/onerror=alert(1)>", "<b>ka</b>"]
    assert page.locator("#source img, #source b").count() == 0
    assert page.locator("#source .word").last.evaluate("word => getComputedStyle(word).unicodeBidi") == "isolate"
    assert complaints == []


def test_a_lost_connection_comes_back_with_the_same_text(browser: Browser, tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server:
        opened = new_context(browser).new_page()
        opened.goto(server.url)
        expect(opened.locator("#model option")).to_have_count(2)
        type_words(opened, "ka le mi. ")
        expect(opened.locator("#target .word")).to_have_count(3)
        server.kill()
        type_words(opened, "no pu. ")
        expect(opened.locator("#status")).to_have_attribute("data-state", "lost")
        server.start()
        expect(opened.locator("#target .word")).to_have_count(5)
        before = words(opened, "target")
        opened.reload()
        expect(opened.locator("#target .word")).to_have_count(5)
        assert words(opened, "target") == before == ["ka", "le", "mi", "no", "pu"]
        opened.context.close()


def test_words_that_were_not_acknowledged_outlive_the_page(browser: Browser, tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server:
        opened = new_context(browser).new_page()
        opened.goto(server.url)
        expect(opened.locator("#model option")).to_have_count(2)
        type_words(opened, "ka le mi. ")
        expect(opened.locator("#target .word")).to_have_count(3)
        # The page itself cannot be loaded from a dead server, so it is the socket alone that is away.
        opened.route("**/tickets", lambda route: route.abort())
        server.kill()
        expect(opened.locator("#status")).to_have_attribute("data-state", "lost")
        server.start()
        type_words(opened, "no pu. ")
        opened.reload()
        expect(opened.locator("#model option")).to_have_count(2)
        type_words(opened, "ra. ")
        assert words(opened, "source") == []
        opened.unroute("**/tickets")
        expect(opened.locator("#target .word")).to_have_count(6)
        assert words(opened, "source") == ["ka", "le", "mi.", "no", "pu.", "ra."]
        opened.context.close()


def test_a_ticket_that_is_not_taken_costs_another(page: Page, complaints: list[str]) -> None:
    dead = {"status": 201, "json": {"ticket": "used", "role": "speaker", "seconds": 30}}
    page.route("**/tickets", lambda route: route.fulfill(**dead), times=1)
    type_words(page, "ka. ")
    expect(page.locator("#target .word")).to_have_count(1)
    expect(page.locator("#status")).to_have_text("Live")
    assert complaints == []


def test_a_store_that_went_back_is_told(browser: Browser, tmp_path: Path) -> None:
    with FakeServer(tmp_path) as server:
        context = new_context(browser)
        speaker, viewer = context.new_page(), context.new_page()
        speaker.goto(server.url)
        expect(speaker.locator("#model option")).to_have_count(2)
        type_words(speaker, "ka. ")
        expect(speaker.locator("#target .word")).to_have_count(1)
        viewer.goto(server.url + str(speaker.locator("#watch-link").get_attribute("href")))
        with going_back(server, tmp_path):
            type_words(speaker, "le mi. ")
            expect(speaker.locator("#target .word")).to_have_count(3)
            expect(viewer.locator("#target .word")).to_have_count(3)
            kept = json.loads(speaker.evaluate("sessionStorage.getItem('turia-session')"))
        expect(speaker.locator("#status")).to_have_text("The server has lost inputs 2 to 3")
        expect(speaker.get_by_role("button", name="New session")).to_be_visible()
        # To a viewer it might be a server that is a little behind, until it tells something else under a known number.
        expect(viewer.locator("#status")).to_have_text("Live")
        say_two_words(server, kept["session"], kept["secret"])
        expect(viewer.locator("#status")).to_have_text("The server has lost what is shown here")
        assert words(viewer, "target") == ["ka", "le", "mi"]
        context.close()


def test_a_browser_that_keeps_nothing_shows_everything(
    browser: Browser, server: FakeServer, complaints: list[str]
) -> None:
    context = new_context(browser)
    context.add_init_script("""
      for (const name of ["localStorage", "sessionStorage"]) {
        Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
      }
    """)
    page = context.new_page()
    watch_console(page, complaints)
    page.goto(server.url)
    type_words(page, "ka le. ")
    expect(page.locator("#target .word")).to_have_count(2)
    operator = context.new_page()
    watch_console(operator, complaints)
    operator.goto(server.url + str(page.locator("#operate-link").get_attribute("href")))
    expect(operator.locator("#lines .said")).to_have_text(["ka le"])
    expect(operator.locator("#controls")).not_to_have_attribute("inert", "")
    page.get_by_role("button", name="Finish").click()
    expect(page.get_by_role("button", name="New session")).to_be_visible()
    expect(page.locator("#status")).to_have_text("Finished")
    assert complaints == []
    context.close()


def test_files_can_be_saved_and_parse(page: Page, tmp_path: Path, complaints: list[str]) -> None:
    type_words(page, "ka le mi. no pu. ")
    expect(page.locator("#target .word")).to_have_count(5)
    page.locator("#save summary").click()
    saved = {}
    for name in ("Text", "SRT", "VTT"):
        with page.expect_download() as downloading:
            page.locator("#save a", has_text=name).first.click()
        path = tmp_path / downloading.value.suggested_filename
        downloading.value.save_as(path)
        saved[name] = path.read_text(encoding="utf-8")
    assert saved["Text"] == "ka le mi\nno pu\n"
    for name in ("SRT", "VTT"):
        assert [cue.text for cue in parse(saved[name])] == ["ka le mi", "no pu"]
    assert complaints == []


def test_audience_and_overlay_follow(page: Page, server: FakeServer, complaints: list[str]) -> None:
    type_words(page, "ka le mi. ")
    expect(page.locator("#target .word")).to_have_count(3)
    followers = []
    for link in ("#watch-link", "#overlay-link"):
        follower = page.context.new_page()
        watch_console(follower, complaints)
        follower.goto(server.url + str(page.locator(link).get_attribute("href")))
        followers.append(follower)
    type_words(page, "no pu. ")
    watch, overlay = followers
    # First and at once: some seconds after the last word nobody is speaking any more.
    expect(overlay.locator("#captions.speaking #lines span")).to_have_count(5)
    expect(watch.locator("#target .word")).to_have_count(5)
    background = overlay.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgba(0, 0, 0, 0)"
    page.get_by_role("button", name="Finish").click()
    expect(watch.locator("#status")).to_have_text("Finished")
    expect(page.locator("#sources")).to_have_attribute("inert", "")
    page.get_by_role("button", name="New session").click()
    expect(page.get_by_role("button", name="Play a sample speech")).to_be_visible()
    assert complaints == []


def test_the_view_is_kept_and_a_keyboard_suffices(page: Page, complaints: list[str]) -> None:
    size = "parseFloat(getComputedStyle(document.getElementById('target')).fontSize)"
    before = page.evaluate(size)
    page.locator("summary", has_text="View").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Larger letters").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Dark").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.reload()
    assert page.evaluate(size) > before
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.locator("#tab-text").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-mic")).to_be_focused()
    expect(page.locator("#panel-mic")).to_be_visible()
    assert complaints == []


def test_every_control_is_reached_with_the_tab_key(page: Page) -> None:
    reached = []
    for _ in range(len(ORDER)):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
    assert reached == ORDER


ORDER = ["model", "k", "Expert", "source", "target", "sample", "tab-text", "typed", "Send", "Save", "Share", "View"]


def test_lines_glide_only_for_those_who_like_motion(browser: Browser, server: FakeServer) -> None:
    context = new_context(browser)
    page = context.new_page()
    page.goto(server.url)
    behaviour = "getComputedStyle(document.getElementById('target')).scrollBehavior"
    assert page.evaluate(behaviour) == "smooth"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(behaviour) == "auto"
    context.close()


def test_a_word_changes_little_of_a_long_transcript(page: Page, complaints: list[str]) -> None:
    page.locator("#rate").evaluate("rate => { rate.max = 60000; rate.value = 60000 }")
    page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"ka le mi. " * 200})
    expect(page.locator("#target .word")).to_have_count(600)
    page.evaluate("""() => {
      window.changes = [];
      const note = (list) => window.changes.push(...list.map((change) => change.addedNodes.length));
      new MutationObserver(note).observe(document.getElementById("stage"), { childList: true, subtree: true });
    }""")
    page.locator("#k").fill("1")
    type_words(page, "no ")
    expect(page.locator("#target .word")).to_have_count(601)
    # A paragraph on either side, in it the word and its space.
    assert page.evaluate("window.changes.reduce((sum, added) => sum + added, 0)") == 6
    # It glides to the newest line.
    page.wait_for_function("""() => {
      const it = document.getElementById("target");
      return it.scrollHeight - it.scrollTop - it.clientHeight < 48;
    }""")
    page.locator("#target").evaluate("it => { it.style.scrollBehavior = 'auto'; it.scrollTop = 100 }")
    expect(page.get_by_role("button", name="Back to live")).to_be_visible()
    type_words(page, "pu ")
    expect(page.locator("#target .word")).to_have_count(602)
    assert page.locator("#target").evaluate("it => it.scrollTop") == 100
    assert complaints == []


def test_a_key_is_asked_for_and_a_full_server_gives_the_words_back(browser: Browser, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("a-key-of-many-letters\n")
    with FakeServer(tmp_path, key_file=str(keys), limits={"streams": 1}) as server:
        first, second = (new_context(browser).new_page() for _ in range(2))
        first.goto(server.url)
        type_words(first, "ka ")
        first.get_by_role("button", name="Cancel").click()
        expect(first.locator("#status")).to_have_text("This server asks for a key")
        expect(first.locator("#typed")).to_have_value("ka ")
        first.locator("#panel-text").get_by_role("button", name="Send").click()
        first.locator("#key").fill("wrong")
        first.get_by_role("button", name="Go on").click()
        expect(first.locator("#key-title")).to_have_text("The server does not know this key")
        first.locator("#key").fill("a-key-of-many-letters")
        first.get_by_role("button", name="Go on").click()
        expect(first.locator("#source .word")).to_have_count(1)
        second.goto(server.url)
        second.evaluate("sessionStorage.setItem('turia-key', 'a-key-of-many-letters')")
        type_words(second, "le mi ")
        expect(second.locator("#status")).to_have_text("the only stream is in use")
        expect(second.locator("#typed")).to_have_value("le mi ")
        for page in (first, second):
            page.context.close()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390), ("high", 1280), ("light", 390)])
def test_no_serious_accessibility_fault(page: Page, server: FakeServer, theme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    pages = {page: "#source .word"}
    kind = "contrast" if theme == "high" else "theme"
    check_accessibility(page, kind, theme)
    type_words(page, "ka le mi. no pu ")
    expect(page.locator("#source .word")).to_have_count(5)
    for link, words_there in (("#watch-link", "#target .word"), ("#overlay-link", "#lines span")):
        follower = page.context.new_page()
        follower.set_viewport_size({"width": width, "height": 844})
        # Captions that fade out while they are looked at would have too little contrast.
        follower.emulate_media(reduced_motion="reduce")
        follower.goto(server.url + str(page.locator(link).get_attribute("href")))
        pages[follower] = words_there
    for shown, words_there in pages.items():
        expect(shown.locator(words_there)).not_to_have_count(0)
        check_accessibility(shown, kind, theme)


def check_accessibility(page: Page, kind: str, theme: str) -> None:
    page.evaluate("([kind, value]) => { document.documentElement.dataset[kind] = value }", [kind, theme])
    result = axe_api.Axe().run(page).response
    assert len(result["passes"]) > 5
    serious = [fault for fault in result["violations"] if fault["impact"] in ("serious", "critical")]
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in serious] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_expert_chooses_a_policy_and_a_lag_behind_the_dial(page: Page, complaints: list[str]) -> None:
    page.locator("#expert summary").click()
    page.locator("#policy").fill("hold-m:n=2")
    page.get_by_role("button", name="Use from the next sentence").click()
    # Nothing is sent: the server would end the session.
    assert "One of: wait-k, whole, hold-n" in page.locator("#policy").evaluate("field => field.validationMessage")
    page.locator("#policy").fill("hold-n:n=1")
    page.locator("#target-lag").fill("3s")
    page.get_by_role("button", name="Use from the next sentence").click()
    expect(page.locator("#k-shown")).to_have_text("lag 3s")
    type_words(page, "ka le. ")
    expect(page.locator("#target .word")).to_have_count(2)
    expect(page.locator("#k-shown")).to_have_text("lag 3s")
    # The dial takes the policy's place.
    page.locator("#k").fill("2")
    expect(page.locator("#k-shown")).to_have_text("2 words")
    type_words(page, "mi no ")
    expect(page.locator("#target .word")).to_have_count(3)
    expect(page.locator("#policy")).to_have_value("")
    assert complaints == []
