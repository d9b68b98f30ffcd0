"""The page that replays: a session of this server, a file of the reader's, or the file of `turia replay --page`.

The page plays what it gets (static/replay.js). A file that is chosen there is read by the browser and goes nowhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, HTMLResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware

from turia.server.pages import DEFAULT_PAGES, STATIC, Pages, WholeFiles, page_text, security_policy


def add_replay(app: FastAPI, pages: Pages) -> None:
    """The routes of the page at a server."""
    content = page_text("replay.html", pages)

    @app.get("/replay", include_in_schema=False)
    async def replay_page() -> HTMLResponse:
        return HTMLResponse(content)

    @app.get("/replay/{session_id}", include_in_schema=False)
    async def replay_of_session(session_id: str) -> HTMLResponse:
        return HTMLResponse(content)


def replay_app(recorded: Path) -> FastAPI:
    """A server of one page, which plays one file."""
    app = FastAPI(title="Turia", docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", WholeFiles(directory=STATIC), name="static")
    content = page_text("replay.html", DEFAULT_PAGES)
    # No other site gets at the file by a name that leads to this machine.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])

    @app.middleware("http")
    async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await call_next(request)
        response.headers["Content-Security-Policy"] = security_policy()
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    @app.get("/")
    async def replay_page() -> HTMLResponse:
        return HTMLResponse(content)

    @app.get("/recorded.jsonl")
    async def recorded_file() -> FileResponse:
        return FileResponse(recorded, media_type="application/jsonl")

    return app
