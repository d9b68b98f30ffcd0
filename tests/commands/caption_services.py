"""A server that takes captions as YouTube and Zoom document it, and notes what it took."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

SECRET = "a-secret-of-the-stream"


@dataclass
class Taken:
    seq: int
    lang: str | None
    body: str


@dataclass
class CaptionService:
    """Of `failures`, each is the status of one POST, before the next is taken as documented."""

    failures: list[int] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    tried: list[int] = field(default_factory=list)
    """The number of each POST, of those that failed too."""
    wrong: list[str] = field(default_factory=list)
    """What a client did against the documentation."""

    def __enter__(self) -> CaptionService:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if urlsplit(self.path).path != "/closedcaption/seq":
                    self._answer(405)
                else:
                    self._answer(200, str(service.taken[-1].seq if service.taken else 0))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._answer(*service.post(self.path, self.headers["Content-Type"], body))

            def _answer(self, status: int, text: str = "") -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/closedcaption?cid={SECRET}"

    def post(self, path: str, kind: str, body: str) -> tuple[int, str]:
        asked = parse_qs(urlsplit(path).query)
        if asked.get("cid") != [SECRET] or "seq" not in asked:
            return 403, ""
        seq = int(asked["seq"][0])
        self.tried.append(seq)
        if not kind.startswith("text/plain"):
            self.wrong.append(f"content type {kind}")
        if self.failures:
            return self.failures.pop(0), ""
        last = self.taken[-1].seq if self.taken else seq - 1
        if seq == last:
            # Tried again, though it was taken: once is enough.
            return 200, ""
        if seq != last + 1:
            self.wrong.append(f"number {seq} after {last}")
        self.taken.append(Taken(seq, asked.get("lang", [None])[0], body))
        return 200, "2012-12-24T00:00:06.873"
