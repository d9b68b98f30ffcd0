"""Posts captions to a service, one POST after another, each until it is taken or too old.

The address is a secret: whoever has it can write captions. So no error and no warning shows more than its host.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO

from turia.commands.options import is_address
from turia.errors import InputError
from turia.formats.caption_posts import TOO_OLD, Service, Waiting, number_address, post_address
from turia.system.files import write_file

FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0
TIMEOUT = 10.0
MOST_BYTES = 64 * 1024
"""Of an answer."""
MOST_DIGITS = 15
"""Of the number of a POST."""
LEAST_INTERVAL = 1.0
"""Seconds between two POSTs."""
NAMES: dict[Service, str] = {"youtube": "YouTube", "zoom": "Zoom"}


class _NotFollowed(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: what is posted goes to the address that was given, or nowhere."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> None:
        return None


_opener = urllib.request.build_opener(_NotFollowed)


@dataclass(frozen=True)
class Answer:
    status: int
    """0 if nobody answered."""
    text: str = ""


def ask(url: str, body: str | None = None) -> Answer:
    """The answer to a GET, or to a POST of a text. It does not raise for what the service or the network does."""
    data = None if body is None else body.encode("utf-8", "replace")
    headers = {} if body is None else {"Content-Type": "text/plain; charset=utf-8"}
    try:
        with _opener.open(urllib.request.Request(url, data, headers), timeout=TIMEOUT) as answer:
            return Answer(answer.status, _text_of(answer))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code)
    except (OSError, http.client.HTTPException):
        return Answer(0)


def _text_of(answer: http.client.HTTPResponse) -> str:
    """As much of it as comes in time: a service that sends a letter now and then must not hold up the captions."""
    data, until = b"", time.monotonic() + TIMEOUT
    while len(data) < MOST_BYTES and time.monotonic() < until and (more := answer.read1(MOST_BYTES - len(data))):
        data += more
    return data.decode("utf-8", "replace")


def secret_address(service: Service, file: Path | None) -> str | None:
    """The address from a file or from the environment, not from the command line, which others can read."""
    variable = f"TURIA_{service.upper()}_URL"
    where = variable if file is None else str(file)
    if file is None:
        text = os.environ.get(variable, "")
        if not text:
            return None
    else:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            text = ""
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    url = text.strip()
    if not is_address(url) or url.split() != [url]:
        raise InputError(f"{where}: expected one address that {NAMES[service]} gives for captions: https://...")
    return url


class Poster:
    """Posts what waits. `numbers` is the file in which the last number is kept, if there is one."""

    def __init__(
        self,
        service: Service,
        url: str,
        waiting: Waiting,
        numbers: Path | None = None,
        *,
        send: Callable[[str, str | None], Answer] = ask,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.service, self.language = service, "en"
        self.posted = 0
        """POSTs that were taken."""
        self._url, self._waiting, self._numbers = url, waiting, numbers
        self._send, self._wait, self._clock = send, wait, clock
        self._seq = 0
        """Of the last POST that was taken."""
        self._told = 0
        self._wake = asyncio.Event()
        self._ending = False

    def wake(self) -> None:
        """Tells the poster that something waits."""
        self._wake.set()

    def finish(self) -> None:
        """Tells the poster that nothing more will come."""
        self._ending = True
        self._wake.set()

    async def run(self) -> None:
        """Posts until `finish` was called and nothing waits."""
        self._seq = await self._last_number()
        while True:
            self._wake.clear()
            body = self._waiting.take(self._clock())
            self._tell_dropped()
            if body is None:
                if self._ending:
                    return
                await self._wake.wait()
                continue
            await self._post(body)
            await self._wait(LEAST_INTERVAL)

    async def _post(self, body: str) -> None:
        """Posts one text with one number, however often it is tried. If it is too old, the next one gets its number."""
        url, until, pause = post_address(self.service, self._url, self._seq + 1, self.language), TOO_OLD, FIRST_WAIT
        began = self._clock()
        while True:
            answer = await asyncio.to_thread(self._send, url, body)
            if 200 <= answer.status < 300:
                self._seq += 1
                self.posted += 1
                self._keep_number()
                return
            if self._clock() - began > until:
                self._tell(f"gave up a caption after {until:.0f} s: {_cause(answer)}")
                return
            if pause == FIRST_WAIT:
                self._tell(f"{_cause(answer)}; trying again")
            await self._wait(pause)
            pause = min(LONGEST_WAIT, 2 * pause)

    # --- numbers --------------------------------------------------------------------------------------------------

    async def _last_number(self) -> int:
        """Zoom tells it; what was posted to YouTube before is in our file, if it was posted to the same address."""
        if self.service == "zoom":
            answer = await asyncio.to_thread(self._send, number_address(self._url), None)
            digits = answer.text.strip()
            return int(digits) if answer.status == 200 and digits.isdecimal() and len(digits) <= MOST_DIGITS else 0
        with suppress(OSError, ValueError):
            kept = (self._numbers.read_text(encoding="utf-8") if self._numbers else "").split()
            if len(kept) == 2 and kept[0] == self._fingerprint():
                return int(kept[1])
        return 0

    def _keep_number(self) -> None:
        if self._numbers is not None and self.service == "youtube":
            with suppress(OSError):
                write_file(self._numbers, f"{self._fingerprint()} {self._seq}\n")

    def _fingerprint(self) -> str:
        return sha256(self._url.encode()).hexdigest()[:12]

    # --- what people are told -------------------------------------------------------------------------------------

    def _tell(self, text: str) -> None:
        print(f"{NAMES[self.service]}: {text}", file=sys.stderr, flush=True)

    def _tell_dropped(self) -> None:
        if self._waiting.dropped > self._told:
            self._tell(f"{self._waiting.dropped - self._told} captions were too old and left out")
            self._told = self._waiting.dropped


def _cause(answer: Answer) -> str:
    known = {0: "no answer", 400: "400, it is not live yet", 403: "403, the address is not valid (any more)"}
    return known.get(answer.status, f"status {answer.status}")
