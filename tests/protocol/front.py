"""A server that answers as a test says, in place of Turia's or of a proxy before it."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer


class Proxy(BaseHTTPRequestHandler):
    """Answers as its server's `answer` says."""

    def do_POST(self) -> None:
        assert isinstance(self.server, Front)
        code, text = self.server.answer
        self.server.asked = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


class Front(HTTPServer):
    answer = (200, "{}")
    asked = ""
    """With the newest request."""
