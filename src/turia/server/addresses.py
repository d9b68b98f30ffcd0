"""Addresses that others can reach, for links and QR codes.

In this order: what the operator says (`--public-url`); the name by which the page was asked for, with the scheme that a
proxy on this machine tells, if that name is not this machine's own for itself; the address of this machine in its
network, if the server listens there. Where none of them is, only this machine can reach the server.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request

from turia.errors import InputError
from turia.server.access import is_loopback

EVERYWHERE = ("0.0.0.0", "::")
PROBE = ("192.0.2.1", 9)
"""An address of nobody (RFC 5737), outside of this network."""


@dataclass(frozen=True)
class Addresses:
    """Where the server is."""

    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str | None = None

    def base(self, request: Request | None = None) -> str:
        """What comes before the path, in links for others."""
        if self.public_url is not None:
            return self.public_url
        asked = "" if request is None else request.headers.get("host", "")
        if request is not None and asked and not is_loopback(host_of(asked)):
            return f"{request.url.scheme}://{asked}"
        if self.host in EVERYWHERE:
            return url_of(lan_address() or "127.0.0.1", self.port)
        if is_loopback(self.host) and asked and request is not None:
            return f"{request.url.scheme}://{asked}"
        return url_of(self.host, self.port)


LOCAL_ADDRESSES = Addresses()


def reaches_others(base: str) -> bool:
    """Whether more than this machine can open the address."""
    return not is_loopback(urlsplit(base).hostname or "localhost")


def checked_public_url(text: str) -> str:
    """`--public-url`, without a slash at its end."""
    try:
        found = urlsplit(text)
        host = found.hostname
    except ValueError:
        host = None
    if not host or found.scheme not in ("http", "https") or found.query or found.fragment or found.path.strip("/"):
        raise InputError(f"--public-url {text}: expected https://HOST or http://HOST:PORT, without a path")
    return text.rstrip("/")


def host_of(header: str) -> str:
    """A Host header without its port."""
    name, _, port = header.rpartition(":")
    return (name if name and port.isdigit() else header).lower()


def url_of(host: str, port: int) -> str:
    """As a browser takes it: an IPv6 address has brackets."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def lan_address() -> str | None:
    """The address of this machine in its network; None without one. Nothing is sent: only a route is looked up."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(PROBE)
            found: str = probe.getsockname()[0]
    except OSError:
        return None
    return None if is_loopback(found) else found
