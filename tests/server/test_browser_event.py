"""What an operator meets at an event, in a real browser: bad files, a dead microphone, two tabs, overlays."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

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
from turia.formats.asr_feeds import InputFormat, heard
from turia.protocol.client import Speaker
from turia.stream.times import SpokenWord

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bytes(range(256)), "a.bin is not a text file"),
        ("größer".encode("latin-1"), "a.bin is not text in UTF-8; save it as UTF-8"),
        ("ka".encode("utf-16"), "a.bin is not text in UTF-8; save it as UTF-8"),
        (b" \n", "a.bin has no words"),
        (
            b'{"text": "ka"}\n{"text": "le"}\n',
            "a.bin is JSON; send what a recogniser wrote with turia send --input-format",
        ),
        (b'[\n  {"word": "ka"}\n]', "a.bin is JSON; send what a recogniser wrote with turia send --input-format"),
        (b"0 1720 ka\n1720 2100 le\n", "a.bin has times in it; send it with turia send --input-format whisper"),
        (b"[Script Info]\n", "a.bin has subtitles of a kind that is not read here; save them as SRT or VTT"),
        (
            b"WEBVTT\n\n00:01.000 --> 00:02.000\nka\n\nle mi\n",
            "a.bin: expected a cue (number, times, text) where it says \u201cle mi\u201d",
        ),
    ],
)
def test_a_file_that_is_no_text_is_refused(page: Page, content: bytes, said: str) -> None:  # noqa: F811
    page.locator("#file").set_input_files({"name": "a.bin", "mimeType": "text/plain", "buffer": content})
    expect(page.locator("#status")).to_have_text(said)
    assert words(page, "source") == []


SRT = """\ufeff1\r
00:00:01,500 --> 00:00:04,000\r
<i>ka</i> {\\an8}le\r
- mi &amp;\r
\r
2\r
00:00:04,000 --> 00:00:05,000\r
"""
VTT = """WEBVTT Kind: captions

NOTE nobody says this

STYLE
::cue { color: red }

first
00:01.500 --> 00:04.000 align:start
<v Anna>ka <00:00:02.000>le &amp; &lt;b>

04:00.000 --> 05:00.000
mi 3 < 4
"""


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.srt", SRT, ["ka", "le", "mi", "&amp;"]),
        ("a.txt", SRT, ["ka", "le", "mi", "&amp;"]),
        ("a.vtt", VTT, ["ka", "le", "&", "<b>", "mi", "3", "<", "4"]),
        ("a.txt", "ka --> le\n\n1 mi [no] {pu}", ["ka", "-->", "le", "1", "mi", "[no]", "{pu}"]),
    ],
)
def test_of_subtitles_only_the_words_are_played(
    page: Page,  # noqa: F811
    name: str,
    content: str,
    said: list[str],
) -> None:
    kinds: dict[str, InputFormat] = {"a.srt": "srt", "a.vtt": "vtt"}
    kind = kinds.get(name)
    if kind is not None:
        lines = content.removeprefix("\ufeff").splitlines()
        assert [item.text for item in heard(kind, lines) if isinstance(item, SpokenWord)] == said, (
            "as on the command line"
        )
    page.locator("#rate").evaluate("rate => { rate.max = 60000; rate.value = 60000 }")
    page.locator("#file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content.encode()})
    expect(page.locator("#source .word")).to_have_text(said)


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


def test_a_file_goes_on_where_it_was_when_the_page_is_loaded_again(page: Page) -> None:  # noqa: F811
    text = [f"w{i}" for i in range(40)]
    page.locator("#rate").evaluate("rate => { rate.max = 600; rate.value = 600 }")
    played = " ".join(text).encode()
    page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": played})
    expect(page.locator("#source .word").nth(5)).to_be_visible()
    page.reload()
    page.locator("#rate").evaluate("rate => { rate.max = 6000; rate.value = 6000 }")
    expect(page.locator("#target .word")).to_have_count(40)
    assert words(page, "source") == text
    expect(page.locator("#source .waiting")).to_have_count(0)
    expect(page.locator("#player")).to_be_hidden()
    # What was typed is finished, as nobody knows what would have followed.
    type_words(page, "ka le ")
    expect(page.locator("#source .waiting")).to_have_count(2)
    page.reload()
    expect(page.locator("#target .word")).to_have_count(42)
    expect(page.locator("#source .waiting")).to_have_count(0)


def test_a_file_that_is_paused_stays_paused_when_the_page_is_loaded_again(page: Page) -> None:  # noqa: F811
    text = [f"w{i}" for i in range(40)]
    played = " ".join(text).encode()
    page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": played})
    expect(page.locator("#source .word").nth(1)).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    place = page.evaluate("sessionStorage.getItem('turia-place')")
    share = page.locator("#played").get_attribute("value")
    page.reload()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert page.evaluate("sessionStorage.getItem('turia-place')") == place
    assert page.locator("#played").get_attribute("value") == share
    page.locator("#rate").evaluate("rate => { rate.max = 6000; rate.value = 6000 }")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("#target .word")).to_have_count(40)
    assert words(page, "source") == text


@pytest.mark.parametrize("answer", ["New session", "Go on here"])
def test_a_duplicated_tab_asks_before_it_takes_the_session(
    page: Page,  # noqa: F811
    server: FakeServer,
    answer: str,
) -> None:
    type_words(page, "ka. ")
    expect(page.locator("#target .word")).to_have_count(1)
    kept = page.evaluate("sessionStorage.getItem('turia-session')")
    second = page.context.new_page()
    second.goto(server.url)
    # As a browser does that duplicates a tab.
    second.evaluate("kept => sessionStorage.setItem('turia-session', kept)", kept)
    second.reload()
    second.get_by_role("button", name=answer).click()
    if answer == "New session":
        expect(second.locator("#status")).to_have_text("Ready")
        type_words(page, "le. ")
        expect(page.locator("#target .word")).to_have_count(2)
    else:
        expect(page.locator("#status")).to_have_text("the session goes on in another connection")
        type_words(second, "le. ")
        expect(second.locator("#target .word")).to_have_count(2)


def test_an_overlay_is_as_its_address_says(page: Page, server: FakeServer) -> None:  # noqa: F811
    type_words(page, "ka le. ")
    expect(page.locator("#target .word")).to_have_count(2)
    address = server.url + str(page.locator("#overlay-link").get_attribute("href"))
    overlay = page.context.new_page()
    overlay.goto(address)
    expect(overlay.locator("#lines span")).to_have_text(["ka", "le"])
    expect(overlay.locator(".notice")).to_have_text("Machine translation")
    overlay.goto(f"{address}?lines=3&size=40&color=ffe14d&background=00000000&position=top&align=left&language=de")
    # What is spoken is not a translation.
    expect(overlay.locator("#lines span")).to_have_text(["ka", "le."])
    expect(overlay.locator(".notice")).to_be_hidden()
    box = overlay.locator("#captions")
    style = box.evaluate(
        "it => { const s = getComputedStyle(it); return [s.fontSize, s.color, s.backgroundColor, s.height] }"
    )
    assert style == ["40px", "rgb(255, 225, 77)", "rgba(0, 0, 0, 0)", "162px"]
    placed = box.bounding_box()
    assert placed is not None
    assert placed["y"] < 100
    # The same language when it is what is translated into.
    page.locator("#model").select_option("en-de")
    type_words(page, "mi. ")
    expect(overlay.locator("#lines span")).to_have_text(["mi"])
    expect(overlay.locator(".notice")).to_be_visible()
    overlay.goto(f"{address}?notice=Automatic&notice-position=bottom")
    expect(overlay.locator(".notice")).to_have_text("Automatic")
    expect(overlay.locator(".notice")).to_have_attribute("data-position", "bottom")
    overlay.goto(f"{address}?lines=many")
    expect(overlay.locator("#captions.speaking")).to_have_text("lines=many: expected a whole number from 1 to 10")


def test_a_file_with_punctuation_is_cut_where_it_says(page: Page) -> None:  # noqa: F811
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(str(frame))))
    type_words(page, "ka le ")
    expect(page.locator("#source .word")).to_have_count(2)
    page.locator("#rate").evaluate("rate => { rate.max = 6000; rate.value = 6000 }")
    page.locator("#file").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"Mi no. Pu ra."})
    expect(page.locator("#target .word")).to_have_count(6)
    expect(page.locator("#player")).to_be_hidden()
    type_words(page, "so ")
    expect(page.locator("#source .word")).to_have_count(7)
    inputs: list[str] = []
    for message in map(json.loads, sent):
        inputs += message.get("words", [])
        inputs += [f"punctuation {message['punctuation']}"] if message["type"] == "settings" else []
    assert inputs == ["ka", "le", "punctuation True", "Mi", "no.", "Pu", "ra.", "punctuation False", "so"]


@pytest.mark.slow
def test_speakers_are_named_on_the_pages(page: Page, server: FakeServer) -> None:  # noqa: F811
    async def speak() -> str:
        async with Speaker(server.url, k=1, punctuation=True) as speaker:
            await speaker.pause(speaker="Anna")
            await speaker.say("ka", "le.", "mi.")
            await speaker.pause(speaker="<b>Bo</b>")
            await speaker.say("no")
            await speaker.end()
            async for _ in speaker.events():
                pass
            return speaker.session

    with ThreadPoolExecutor(1) as pool:
        name = pool.submit(asyncio.run, speak()).result()
    page.goto(f"{server.url}/watch/{name}")
    expect(page.locator("#target p")).to_have_text(["Annaka le", "mi", "<b>Bo</b>no"])
    assert page.locator("#source .speaker").all_inner_texts() == ["Anna", "<b>Bo</b>"]
    page.goto(f"{server.url}/overlay/{name}")
    expect(page.locator("#lines span")).to_have_text(["Anna:", "ka", "le", "mi", "<b>Bo</b>:", "no"])


@pytest.mark.slow
def test_viewers_are_told_that_the_speaker_is_away_and_words_do_not_wait_for_ever(
    browser: Browser,  # noqa: F811
    tmp_path: Path,
) -> None:
    with FakeServer(tmp_path, limits={"grace": 0.1}) as server:
        context = new_context(browser)
        speaker, viewer = context.new_page(), context.new_page()
        speaker.goto(server.url)
        type_words(speaker, "ka le ")
        expect(speaker.locator("#source .waiting")).to_have_count(2)
        viewer.goto(server.url + str(speaker.locator("#watch-link").get_attribute("href")))
        viewer.locator("summary", has_text="View").click()
        viewer.get_by_role("button", name="Both").click()
        expect(viewer.locator("#status")).to_have_text("Live")
        expect(viewer.locator("#source .waiting")).to_have_count(2)
        kept = speaker.evaluate("sessionStorage.getItem('turia-session')")
        speaker.close()
        expect(viewer.locator("#status")).to_have_text("Speaker away")
        expect(viewer.locator("#target .word")).to_have_count(2)
        expect(viewer.locator("#source .waiting")).to_have_count(0)
        # Who comes later is told, too.
        viewer.reload()
        expect(viewer.locator("#status")).to_have_text("Speaker away")
        again = context.new_page()
        again.goto(server.url)
        again.evaluate("kept => sessionStorage.setItem('turia-session', kept)", kept)
        again.reload()
        expect(viewer.locator("#status")).to_have_text("Live")
        context.close()
