"""Makes docs/figures/live-page.png, the picture in the README: a real `turia serve` in a real browser.

    python docs/make_screenshot.py            # needs the dev extra and Debian's chromium-headless-shell or chromium

The script starts a server on a free port with its sessions in a temporary folder, plays the German sample speech, and
takes the picture when enough words have been translated. Run it again after a change of the page or of the model.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

PICTURE = Path(__file__).parent / "figures" / "live-page.png"
WORDS = 48
"""Target words on the page when the picture is taken: enough to fill both columns."""
PATIENCE_MS = 180_000
SIZE = {"width": 1200, "height": 620}


@contextmanager
def server() -> Iterator[str]:
    """The address of a new `turia serve`."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "turia", "serve", "--model", "de-en", "--port", "0", "--data", data]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    if found := re.search(r"http://\S+", line):
                        yield found[0]
                        return
                sys.exit("turia serve ended before it printed its address")
            finally:
                process.terminate()


def take(url: str) -> None:
    """Plays the sample speech at `url` and saves the picture."""
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium-headless-shell and no chromium on this machine; install one of them")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(url)
        page.locator("#k").fill("6")
        page.get_by_role("button", name="Play a sample speech").click()
        expect(page.locator("#target .word").nth(WORDS)).to_be_visible(timeout=PATIENCE_MS)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    with server() as url:
        take(url)
    print(f"{PICTURE} ({PICTURE.stat().st_size // 1024} KiB)")
