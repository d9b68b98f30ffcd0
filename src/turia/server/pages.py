"""The pages: for the speaker, for the audience, and the overlay for OBS.

They say that what they show is machine translation, in the operator's words, and may be embedded where the operator
allows it. The speaker's page is never embedded: another site could make somebody click there.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from turia.errors import InputError

STATIC = Path(__file__).parent / "static"
NOTICE = "Machine translation"
LONGEST_NOTICE = 200
PLACE = "<!-- notice -->"
"""In the pages: where the notice stands."""
PART = re.compile(r"^ *<!-- part: (\w+) -->\n", re.MULTILINE)
"""In the pages: where a file of static/parts stands, which several pages have."""
Position = Literal["top", "bottom"]


@dataclass(frozen=True)
class Pages:
    """What the operator has chosen for the pages."""

    notice: str = NOTICE
    """What they say of the captions; empty for nothing."""
    notice_position: Position = "top"
    frame_ancestors: tuple[str, ...] = ()
    """Origins of sites that may embed the audience's page and the overlay."""
    browser_speech: bool = False
    """Whether the speaker's page may use the browser's own speech recognition, which some browsers send to their
    maker, where the server has none for the language."""

    def __post_init__(self) -> None:
        if len(self.notice) > LONGEST_NOTICE or not self.notice.isprintable():
            raise InputError(f"notice: expected one line of at most {LONGEST_NOTICE} letters, or nothing for none")


DEFAULT_PAGES = Pages()


class WholeFiles(StaticFiles):
    """Files of the pages, never parts of them: they are small, and releases of Starlette before 0.49.1 take seconds for
    a header that asks for thousands of parts (CVE-2025-62727)."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [header for header in scope.get("headers", ()) if header[0] != b"range"]
        await super().__call__({**scope, "headers": headers}, receive, send)


def security_policy(frame_ancestors: Sequence[str] = ()) -> str:
    """The Content-Security-Policy of answers: nothing from elsewhere, and frames of these origins only."""
    ancestors = " ".join(["'self'", *frame_ancestors])
    return f"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}; object-src 'none'"


def add_pages(app: FastAPI, pages: Pages) -> None:
    """The routes of the pages."""
    index, watch, overlay = (page_text(name, pages) for name in ("index.html", "watch.html", "overlay.html"))
    embedded = {"Content-Security-Policy": security_policy(pages.frame_ancestors)}

    @app.get("/", include_in_schema=False)
    async def speakers_page() -> HTMLResponse:
        return HTMLResponse(index)

    @app.get("/watch/{session_id}", include_in_schema=False)
    async def audiences_page(session_id: str) -> HTMLResponse:
        return HTMLResponse(watch, headers=embedded)

    @app.get("/overlay/{session_id}", include_in_schema=False)
    async def overlay_page(session_id: str) -> HTMLResponse:
        return HTMLResponse(overlay, headers=embedded)


def page_text(name: str, pages: Pages = DEFAULT_PAGES) -> str:
    """The file, with the parts and the notice in it."""
    notice = f'<p class="notice" data-position="{pages.notice_position}">{html.escape(pages.notice)}</p>'
    text = PART.sub(lambda found: _file(f"parts/{found[1]}.html"), _file(name))
    return text.replace(PLACE, notice if pages.notice else "")


def _file(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
