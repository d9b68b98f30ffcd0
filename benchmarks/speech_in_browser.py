"""Recognition in the browser: Moonshine in a worker of headless Chromium, in the place of the server's.

    npm pack @moonshine-ai/moonshine-js@0.1.29 onnxruntime-web@1.22.0      # and unpack both
    python -m benchmarks.speech_in_browser MOONSHINE-JS ONNXRUNTIME-WEB [--corpus FILE --sentences 10]

MOONSHINE-JS and ONNXRUNTIME-WEB are the folders `package` of the two. Only the decoder is exchanged: voice detection,
agreement and the clock are those of benchmarks/speech.py, so the two differ by nothing else. The worker does one call
after the other. Its work is the processor time of its thread, so the figures are those of one free core, whatever else
the machine does. The lag is counted from the end of a spoken word to when the word was final.

Needs the speech extra, playwright, and Debian's chromium-headless-shell.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, Route, sync_playwright

from benchmarks.speech import Espeak, Recognition, Speech, corpus, ends_of, recognise, recordings, spoken, word_errors
from turia.speech.agreement import DecodedWord
from turia.speech.moonshine import MoonshineDecoder, with_times
from turia.speech.recogniser import RATE, Samples
from turia.speech.redecoding import Decoder, RedecodingRecogniser
from turia.speech.voice import SileroDetector
from turia.stream.times import SpokenWord

ADDRESS = "http://localhost/"
"""Nothing listens there: the browser's requests are answered here."""
WORKER = """
import { MoonshineModel, Settings } from "/moonshine/moonshine.min.js";
Settings.BASE_ASSET_PATH.MOONSHINE = "/moonshine/";
Settings.BASE_ASSET_PATH.ONNX_RUNTIME = location.origin + "/ort/";
const model = new MoonshineModel("model/tiny", "quantized");
let last = model.loadModel();
onmessage = ({ data }) => {
  last = last.then(() => (data === null ? "" : model.generate(new Float32Array(data))));
  last.then((text) => postMessage({ text }), (error) => postMessage({ error: String(error) }));
};
"""
PAGE = """<!doctype html><script type="module">
const worker = new Worker("/worker.js", { type: "module" });
const answer = (data) => new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data.text));
  worker.onerror = (event) => reject(new Error(event.message));
  worker.postMessage(data, data === null ? [] : [data]);
});
window.loaded = () => answer(null);
window.decoded = async () => answer(await (await fetch("/sound")).arrayBuffer());
</script>"""
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm"}
WORKER_THREAD = "DedicatedWorker"
"""Chromium's name of it."""


class BrowserDecoder:
    """Moonshine in a worker of a page."""

    language = "en"

    def __init__(self, page: Page, moonshine: Path, ort: Path) -> None:
        self._folders = {"moonshine": moonshine / "dist", "ort": ort / "dist"}
        self._sound = b""
        self._apart = 0.0
        """Processor time of this process that a browser would not need."""
        page.route("**/*", self._answer)
        self._page = page
        page.goto(ADDRESS)
        page.evaluate("loaded()")
        self._thread = worker_thread()
        self.loading = self._worked()

    def decode(self, sound: Samples, speech: tuple[float, float]) -> list[DecodedWord]:
        began = time.process_time()
        self._sound = np.pad(sound, (0, max(0, RATE // 2 - len(sound)))).astype("<f4").tobytes()
        text = self._page.evaluate("decoded()")
        self._apart += time.process_time() - began
        # It does not tell how sure it is.
        return with_times([(word, 1.0) for word in text.split()], speech)

    def clock(self) -> float:
        """The work of the worker, and of what runs here in place of the page."""
        return self._worked() + time.process_time() - self._apart

    def _worked(self) -> float:
        return int((self._thread / "schedstat").read_text().split()[0]) / 1e9

    def _answer(self, route: Route) -> None:
        folder, _, path = route.request.url.removeprefix(ADDRESS).partition("/")
        if not folder:
            route.fulfill(body=PAGE, content_type="text/html")
        elif folder == "worker.js":
            route.fulfill(body=WORKER, content_type="text/javascript")
        elif folder == "sound":
            route.fulfill(body=self._sound, content_type="application/octet-stream")
        elif (file := self._folders[folder] / path).is_file():
            route.fulfill(path=file, content_type=TYPES.get(file.suffix, "application/octet-stream"))
        else:
            raise SystemExit(f"{file}: no such file; are these the folders `package` of the two packages?")


def worker_thread() -> Path:
    """The worker's thread in the browser that this process has started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue

    def ours(process: int) -> bool:
        while process > 1 and process != os.getpid():
            process = parents.get(process, 0)
        return process > 1

    threads = (thread for process in filter(ours, parents) for thread in Path(f"/proc/{process}/task").glob("*"))
    return next(thread for thread in threads if (thread / "comm").read_text().startswith(WORKER_THREAD))


@contextmanager
def browser_page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.set_default_timeout(600_000)
        yield page
        browser.close()


def final_lags(speech: Speech, recognition: Recognition) -> list[float]:
    """Seconds from the end of each word to when it was final."""
    now, written = 0.0, list[float]()
    for piece in recognition.pieces:
        now = max(now, piece.over) + piece.work
        written += [now for item in piece.heard if isinstance(item, SpokenWord)]
    return [at - end for at, end in zip(written, ends_of(speech, recognition), strict=True) if end is not None]


def report(where: str, speech: Speech, decoder: Decoder, clock: Callable[[], float]) -> None:
    recognition = recognise(speech, RedecodingRecogniser(decoder, SileroDetector()), clock)
    errors, said = word_errors(speech, recognition)
    seconds = len(speech.sound) / RATE
    line = f"{speech.name}, {where}: {errors} errors in {said} words, real-time factor {recognition.work / seconds:.2f}"
    if late := final_lags(speech, recognition):
        median, most = np.percentile(late, [50, 95])
        line += f", lag of final words {median:.1f} s (median), {most:.1f} s (p95)"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moonshine", type=Path)
    parser.add_argument("onnxruntime", type=Path)
    parser.add_argument("--voice", default="en-gb-x-rp", help="of espeak-ng")
    parser.add_argument("--corpus", type=Path, help="sentences to be spoken, with references")
    parser.add_argument("--sentences", type=int, default=10, help="of the corpus")
    arguments = parser.parse_args()

    speeches = list(recordings())
    if arguments.corpus is not None:
        english, german = corpus(arguments.corpus, arguments.sentences)
        speeches.append(spoken(Espeak(arguments.voice), arguments.corpus.name, english, german))
    with browser_page() as page:
        decoder = BrowserDecoder(page, arguments.moonshine, arguments.onnxruntime)
        print(f"loading took {decoder.loading:.1f} s of the worker", flush=True)
        for speech in speeches:
            report("in the browser", speech, decoder, decoder.clock)
    own = MoonshineDecoder()
    for speech in speeches:
        report("on the server", speech, own, time.process_time)


if __name__ == "__main__":
    main()
