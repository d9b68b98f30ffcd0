"""`turia doctor --server URL`: checks a running server as a browser sees it, including any proxy in front of it.

It fetches pages, opens a WebSocket and sends an invalid message. The answers show whether the proxy passes on the host
name, WebSockets and headers. It starts no session and sends no key.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus, WebSocketException

from turia.commands.doctor import Finding, clock_beside
from turia.commands.options import check_address
from turia.errors import InputError
from turia.server.access import is_loopback

SECONDS = 10.0
SOON_DAYS = 14
NGINX_HOST = "pass the host name on; nginx: `proxy_set_header Host $http_host;`"
NGINX_SOCKET = (
    "pass WebSockets on; nginx: `proxy_http_version 1.1;`, `proxy_set_header Upgrade $http_upgrade;` and "
    '`proxy_set_header Connection "upgrade";`'
)
EXAMPLES = "deploy/nginx.conf and deploy/Caddyfile are examples"


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    """Names in small letters."""
    body: str


def is_turia(url: str) -> bool:
    """Whether a Turia answers there."""
    try:
        answer = _get(f"{url}/livez", None)
    except (OSError, ValueError):
        return False
    return answer.status == 200 and '"alive"' in answer.body


def examine_server(url: str, ca: Path | None = None) -> Iterator[Finding]:
    """All checks of the server at `url`. `ca` is the certificate of an authority of your own."""
    check_address("--server", url)
    parts = urlsplit(url)
    assert parts.hostname is not None
    url = url.rstrip("/")
    context = _context(ca) if parts.scheme == "https" else None
    try:
        answer = _get(f"{url}/livez", context)
    except (OSError, ValueError) as error:
        yield _unreachable(url, error)
        return
    if answer.status != 200 or '"alive"' not in answer.body:
        yield _not_alive(url, answer)
        return
    yield Finding("server", "ok", f"{url} answers")
    yield from _check_ready(_get(f"{url}/readyz", context))
    yield from _check_transport(parts.hostname, parts.port or 443, context)
    yield from _check_host(_get(f"{url}/livez", context, Origin=f"{parts.scheme}://{parts.netloc}"))
    yield from _check_headers(_get(f"{url}/", context).headers)
    yield from _check_socket(url, context)
    sent = email.utils.parsedate_to_datetime(answer.headers["date"]) if "date" in answer.headers else None
    if sent is not None:
        yield from clock_beside("the server", sent.timestamp())


def _context(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"--ca {ca}: cannot be read as certificates: {error}") from error


def _get(url: str, context: ssl.SSLContext | None, **headers: str) -> _Answer:
    asked = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=SECONDS, context=context) as answer:
            return _Answer(answer.status, _small(answer.headers), answer.read(100_000).decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        with error:
            return _Answer(error.code, _small(error.headers), error.read(1000).decode("utf-8", "replace"))


def _small(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _unreachable(url: str, error: Exception) -> Finding:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, ssl.SSLCertVerificationError):
        mend = "renew or complete the proxy's certificate; for an authority of your own, give --ca FILE"
        return Finding("server", "problem", f"{url}: its certificate is not trusted: {reason.verify_message}", mend)
    if isinstance(reason, socket.gaierror):
        return Finding("server", "problem", f"{url}: the name is not known", "give it an address (DNS)")
    mend = "start it, and open the port in the firewall"
    return Finding("server", "problem", f"{url} cannot be reached: {reason}", mend)


def _not_alive(url: str, answer: _Answer) -> Finding:
    if _code(answer) == "origin":
        mend = f"give it keys (--key-file): without, it answers to local names alone; if it has keys, {NGINX_HOST}"
        return Finding("server", "problem", f"{url}: the server does not answer to this host name", mend)
    if answer.status in (502, 503, 504):
        mend = "start the server, and let the proxy's address of it be right (proxy_pass, reverse_proxy)"
        return Finding("server", "problem", f"{url}: the proxy does not reach the server ({answer.status})", mend)
    mend = f"the proxy must pass all paths on; {EXAMPLES}"
    return Finding("server", "problem", f"{url}/livez: {answer.status}, and not from Turia", mend)


def _code(answer: _Answer) -> str:
    try:
        return str(json.loads(answer.body)["code"])
    except (ValueError, KeyError, TypeError):
        return ""


def _check_ready(answer: _Answer) -> Iterator[Finding]:
    if answer.status == 200:
        yield Finding("server", "ok", "takes streams")
    else:
        yield Finding("server", "warning", f"takes no streams now ({answer.status})", "wait, or start it again")


def _check_transport(host: str, port: int, context: ssl.SSLContext | None) -> Iterator[Finding]:
    if context is None:
        if not is_loopback(host):
            mend = f"put a proxy with a certificate in front; {EXAMPLES}"
            yield Finding("tls", "warning", "keys and captions cross the network unencrypted", mend)
        return
    with (
        socket.create_connection((host, port), SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=host) as wrapped,
    ):
        certificate = wrapped.getpeercert() or {}
    days = (ssl.cert_time_to_seconds(str(certificate["notAfter"])) - time.time()) / 86_400
    if days < SOON_DAYS:
        yield Finding("tls", "warning", f"the certificate ends in {days:.0f} days", "renew it, by itself at best")
    else:
        yield Finding("tls", "ok", f"{wrapped.version()}; the certificate is good for {days:.0f} days")


def _check_host(answer: _Answer) -> Iterator[Finding]:
    """A page's own requests name the host in Origin too; the two must be the same behind the proxy."""
    if answer.status == 200:
        yield Finding("proxy", "ok", "the host name comes through")
    else:
        yield Finding("proxy", "problem", "the server takes its own page for a stranger's", NGINX_HOST)


def _check_headers(headers: Mapping[str, str]) -> Iterator[Finding]:
    missing = [name for name in ("content-security-policy", "x-content-type-options") if name not in headers]
    if missing:
        mend = "let the proxy keep the headers of the answers"
        yield Finding("proxy", "warning", f"{' and '.join(missing)} did not come through", mend)
    else:
        yield Finding("proxy", "ok", "the headers that protect pages come through")


async def _answer_on_socket(address: str, context: ssl.SSLContext | None, origin: str) -> dict[str, object]:
    """What a WebSocket says to a message that is no hello: any answer shows that both ways are open."""
    # Not the client with threads: its reader of a TLS connection can hang when a handshake is given up.
    async with connect(
        address,
        ssl=context,
        compression=None,
        open_timeout=SECONDS,
        close_timeout=SECONDS,
        additional_headers={"Origin": origin},
    ) as opened:
        await opened.send("{}")
        said: dict[str, object] = json.loads(await asyncio.wait_for(opened.recv(), SECONDS))
        return said


def _check_socket(url: str, context: ssl.SSLContext | None) -> Iterator[Finding]:
    parts = urlsplit(url)
    address = parts._replace(scheme="wss" if context else "ws", path=f"{parts.path}/socket").geturl()
    try:
        said = asyncio.run(_answer_on_socket(address, context, f"{parts.scheme}://{parts.netloc}"))
    except InvalidStatus as refused:
        status = refused.response.status_code
        mend = "there are as many connections as it takes, or it stops" if status == 503 else NGINX_SOCKET
        yield Finding("proxy", "problem", f"a WebSocket is not let through ({status})", mend)
        return
    except (OSError, ValueError, WebSocketException) as error:
        yield Finding("proxy", "problem", f"a WebSocket breaks off: {type(error).__name__}", NGINX_SOCKET)
        return
    if said.get("type") == "error":
        yield Finding("proxy", "ok", "WebSockets come through")
    else:
        yield Finding("proxy", "problem", "a WebSocket leads to something else", NGINX_SOCKET)
