"""The page's microphone: Chromium plays a recording into it, and this machine's own recogniser hears that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.server.servers import FakeServer
from tests.server.test_browser import ARGUMENTS, chromium, complaints, new_context, watch_console  # noqa: F401

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytest.importorskip("moonshine_voice", reason="needs the speech extra")

from playwright.sync_api import Browser, Page, expect  # noqa: E402

from tests.speech.test_sound import write_wav  # noqa: E402
from turia.speech.recogniser import RATE  # noqa: E402

pytestmark = pytest.mark.slow
ENGLISH = Path(__file__).parents[2] / "examples/speech/english.wav"
MICROPHONE = [
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    f"--use-file-for-fake-audio-capture={ENGLISH}%noloop",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    with FakeServer(tmp_path_factory.mktemp("microphone"), recogniser="moonshine") as running:
        yield running
        assert running.faults() == []


@pytest.fixture
def browser() -> Iterator[Browser]:
    """Each begins to play the recording when it is first asked for a microphone."""
    executable = chromium()
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=[*ARGUMENTS, *MICROPHONE])
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser, server: FakeServer, complaints: list[str]) -> Iterator[Page]:  # noqa: F811
    context = new_context(browser, viewport={"width": 390, "height": 780})
    opened = context.new_page()
    watch_console(opened, complaints)
    opened.goto(server.url)
    opened.get_by_role("tab", name="Microphone").click()
    yield opened
    context.close()


def test_the_microphone_is_captioned_also_while_the_server_restarts(
    page: Page,
    server: FakeServer,
    complaints: list[str],  # noqa: F811
) -> None:
    expect(page.locator("#mic-hint")).to_have_text(
        "This server recognises no German speech. Type, play a file, or connect a recogniser."
    )
    expect(page.get_by_role("button", name="Start listening")).to_be_disabled()
    page.locator("#model").select_option("en-de")
    expect(page.locator("#mic-hint")).to_have_text("Recognised by this server. Sound is not stored.")
    page.get_by_role("button", name="Start listening").click()
    expect(page.locator("#target .word").first).to_be_visible()
    # The speaker may be taking a breath.
    page.wait_for_function("() => document.getElementById('level').value > 0")
    assert page.locator("#device option").count() >= 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert complaints == []
    # What is said meanwhile waits in the page.
    server.kill()
    server.start()
    # On a machine that is very busy, Chromium itself loses some of the sound.
    later = re.compile("energy|water|farming|cities")
    expect(page.locator("#target .word", has_text=later).first).to_be_visible()
    page.get_by_role("button", name="Stop listening").click()
    expect(page.get_by_role("button", name="Start listening")).to_be_enabled()


def test_what_is_said_while_the_button_is_held_is_heard(page: Page, server: FakeServer, complaints: list[str]) -> None:  # noqa: F811
    page.locator("#model").select_option("en-de")
    page.locator("#mic-menu summary").click()
    page.get_by_label("Push to talk").check()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start listening").click()
    talk = page.get_by_role("button", name="Hold to talk")
    expect(page.locator("#status")).to_have_text("Live")
    talk.focus()
    page.keyboard.down("Space")
    expect(talk).to_have_attribute("aria-pressed", "true")
    # The first words are spoken in the second and third second.
    page.wait_for_timeout(2500)
    page.keyboard.up("Space")
    expect(talk).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#source .word").first).to_be_visible()
    expect(page.locator("#source .waiting")).to_have_count(0)
    while "turia_listeners 0.0" not in server.get("/metrics")[1]:
        page.wait_for_timeout(100)
    assert complaints == []


def test_push_to_talk_can_be_chosen_while_the_microphone_is_on(page: Page, server: FakeServer) -> None:
    def listeners(count: int) -> None:
        while f"turia_listeners {count}.0" not in server.get("/metrics")[1]:
            page.wait_for_timeout(100)

    page.locator("#model").select_option("en-de")
    page.get_by_role("button", name="Start listening").click()
    listeners(1)
    page.locator("#mic-menu summary").click()
    page.get_by_label("Push to talk").check()
    # Nobody holds the button.
    expect(page.locator("#talk")).to_have_attribute("aria-pressed", "false")
    listeners(0)
    page.get_by_label("Push to talk").uncheck()
    listeners(1)


# A browser without a window asks nobody, so nobody can refuse.
REFUSAL = "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', 'NotAllowedError'))"


@pytest.mark.parametrize(
    ("arguments", "script", "told"),
    [
        ([], REFUSAL, "The browser may not use the microphone"),
        (["--use-fake-ui-for-media-stream"], "", "No microphone was found"),
        (
            [*MICROPHONE[:2], "--use-file-for-fake-audio-capture=SILENT"],
            "",
            "Nothing is heard yet. Is the microphone on?",
        ),
    ],
)
def test_what_is_wrong_with_the_microphone_is_said(
    arguments: list[str], script: str, told: str, server: FakeServer, tmp_path: Path
) -> None:
    silent = write_wav(tmp_path / "silent.wav", np.zeros(RATE, np.float32), RATE)
    arguments = [argument.replace("SILENT", str(silent)) for argument in arguments]
    executable = chromium()
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=[*ARGUMENTS, *arguments])
        opened = new_context(running).new_page()
        opened.add_init_script(script)
        opened.goto(server.url)
        opened.get_by_role("tab", name="Microphone").click()
        opened.locator("#model").select_option("en-de")
        opened.get_by_role("button", name="Start listening").click()
        # The session may begin before the trouble or after it, and the later one is the status. The reason stays.
        expect(opened.locator("#status")).to_have_text(re.compile(f"^(Live|{re.escape(told)})$"))
        expect(opened.locator("#unheard")).to_have_text(told)
        expect(opened.locator("#unheard")).to_be_visible()
        running.close()


TONES = """async () => {
  const { Resampler } = await import("/static/capture.js");
  const loudness = (rate, frequency, chunk) => {
    const tone = Float32Array.from({ length: rate }, (_, i) => Math.sin((2 * Math.PI * frequency * i) / rate));
    const resampler = new Resampler(rate);
    const out = [];
    for (let i = 0; i < rate; i += chunk) out.push(...resampler.push(tone.subarray(i, i + chunk)));
    const inner = out.slice(1000, 15000);
    return [out.length, Math.sqrt(2 * inner.reduce((sum, value) => sum + value * value, 0) / inner.length)];
  };
  return [[48000, 1000, 128], [44100, 3000, 128], [48000, 12000, 999], [16000, 1000, 128], [8000, 1000, 128]].map(
    (tone) => loudness(...tone));
}"""


def test_the_rate_is_converted_without_mirrors(page: Page) -> None:
    """A tone keeps its loudness, and one that 16 kHz cannot hold does not come back as another."""
    found = page.evaluate(TONES)
    assert [round(loudness, 2) for _, loudness in found] == pytest.approx([1, 1, 0, 1, 1], abs=0.02)
    assert all(15_900 <= samples <= 16_001 for samples, _ in found)
