"""What the client takes for a refusal, and what for servers that are away behind a proxy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from turia.client import BusyError, Speaker
from turia.errors import InputError


class Proxy(BaseHTTPRequestHandler):
    """Answers as its server's `answer` says."""

    def do_POST(self) -> None:
        assert isinstance(self.server, Front)
        code, text = self.server.answer
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


class Front(HTTPServer):
    answer = (200, "{}")


@pytest.fixture
def front() -> Iterator[Front]:
    with Front(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("code", "text", "error"),
    [
        (503, '{"detail":"all 3 streams are in use","code":"capacity"}', BusyError),
        # Ray's proxy while an application is deployed anew, and any other without a server behind it.
        (404, "Path '/api/sessions' not found. Ping http://.../-/routes for available routes.", BusyError),
        (502, "<html>Bad Gateway</html>", BusyError),
        (500, "Internal Server Error", BusyError),
        (404, '{"detail":"no such session"}', InputError),
        (401, '{"detail":"an API key is needed"}', InputError),
    ],
)
def test_only_a_server_of_ours_refuses_for_good(front: Front, code: int, text: str, error: type[Exception]) -> None:
    front.answer = (code, text)

    async def begin() -> None:
        async with Speaker(f"http://127.0.0.1:{front.server_port}"):
            pass

    with pytest.raises(error, match=str(code)):
        asyncio.run(begin())
