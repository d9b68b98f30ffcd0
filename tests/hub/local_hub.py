"""A small hub on loopback, which behaves as the Hugging Face hub does towards huggingface_hub.

It gives the information of a model, resolves files with their commit and ETag, sends large ones by way of another
address as the hub does for LFS, answers ranges, and refuses what the hub refuses, with its error codes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE = 10_000
"""Bytes from which a file is sent from another address."""


@dataclass
class HubModel:
    """A repository."""

    folder: Path
    licence: str | None = "cc-by-4.0"
    gated: bool = False
    token: str | None = None
    """Who has none does not see the repository."""
    sha: str = "a" * 40

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir()) if path.is_file()}


@dataclass
class LocalHub:
    models: dict[str, HubModel] = field(default_factory=dict)
    cut_at: int | None = None
    """Ends a transfer after so many bytes of a large file."""
    stall_at: tuple[str, int] | None = None
    """Of a file: sends no more after so many bytes, until `go_on` is set; then it ends the transfer."""
    go_on: Event = field(default_factory=Event)
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, path and range of each request for a file."""
    url: str = ""


@contextmanager
def local_hub() -> Iterator[LocalHub]:
    """A hub that answers until the block ends."""
    hub = LocalHub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

        def do_GET(self) -> None:
            _answer(self, hub)

        def do_HEAD(self) -> None:
            _answer(self, hub)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(request: BaseHTTPRequestHandler, hub: LocalHub) -> None:
    path = unquote(urlsplit(request.path).path)
    if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
        _inform(request, hub, match[1], match[2] or "main")
    elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
        _resolve(request, hub, *match.groups())
    elif match := re.fullmatch(r"/blobs/([^/]+/[^/]+)/(.+)", path):
        hub.asked.append((request.command, match[2], request.headers.get("Range")))
        content = hub.models[match[1]].files()[match[2]]
        stalls = hub.stall_at is not None and hub.stall_at[0] == match[2]
        _send(request, content, {}, hub.stall_at[1] if hub.stall_at and stalls else hub.cut_at)
        if stalls:
            request.wfile.flush()
            hub.go_on.wait()
    else:
        _refuse(request, 404, None)


def _known(request: BaseHTTPRequestHandler, hub: LocalHub, model: str, revision: str) -> HubModel | None:
    found = hub.models.get(model)
    if found is None or (found.token and request.headers.get("Authorization") != f"Bearer {found.token}"):
        _refuse(request, 401 if found is None else 404, "RepoNotFound")
    elif revision not in ("main", found.sha):
        _refuse(request, 404, "RevisionNotFound")
    else:
        return found
    return None


def _inform(request: BaseHTTPRequestHandler, hub: LocalHub, model: str, revision: str) -> None:
    found = _known(request, hub, model, revision)
    if found is None:
        return
    data = {
        "_id": "1",
        "id": model,
        "modelId": model,
        "sha": found.sha,
        "private": False,
        "gated": "auto" if found.gated else False,
        "tags": [],
        "cardData": {"license": found.licence} if found.licence else {},
        "siblings": [{"rfilename": name, "size": len(content)} for name, content in found.files().items()],
    }
    _send(request, json.dumps(data).encode(), {"Content-Type": "application/json"}, None)


def _resolve(request: BaseHTTPRequestHandler, hub: LocalHub, model: str, revision: str, name: str) -> None:
    found = _known(request, hub, model, revision)
    if found is None:
        return
    if found.gated:
        _refuse(request, 403, "GatedRepo")
        return
    content = found.files().get(name)
    if content is None:
        _refuse(request, 404, "EntryNotFound")
        return
    etag = f'"{hashlib.sha256(content).hexdigest()}"'
    headers = {"X-Repo-Commit": found.sha, "ETag": etag, "Accept-Ranges": "bytes"}
    if len(content) < LARGE:
        hub.asked.append((request.command, name, request.headers.get("Range")))
        _send(request, content, headers, None)
        return
    request.send_response(302)
    # Another host, as the hub's storage is: who follows this one has left the hub.
    place = f"{hub.url.replace('127.0.0.1', 'localhost')}/blobs/{model}/{name}"
    linked = {"X-Linked-Etag": etag, "X-Linked-Size": str(len(content)), "Location": place}
    for key, value in {**headers, **linked, "Content-Length": "0"}.items():
        request.send_header(key, value)
    request.end_headers()


def _send(request: BaseHTTPRequestHandler, content: bytes, headers: dict[str, str], cut_at: int | None) -> None:
    begin = 0
    if match := re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range") or ""):
        begin = int(match[1])
        headers = {**headers, "Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"}
    request.send_response(206 if begin else 200)
    for key, value in {**headers, "Content-Length": str(len(content) - begin)}.items():
        request.send_header(key, value)
    request.end_headers()
    if request.command == "GET":
        request.wfile.write(content[begin : None if cut_at is None else begin + cut_at])
        if cut_at is not None:
            request.close_connection = True


def _refuse(request: BaseHTTPRequestHandler, status: int, code: str | None) -> None:
    request.send_response(status)
    for key, value in {"X-Error-Code": code, "X-Error-Message": "refused", "Content-Length": "0"}.items():
        if value is not None:
            request.send_header(key, value)
    request.end_headers()
