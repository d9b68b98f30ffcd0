"""The calls over HTTP of the client in Python: they begin a session and get tickets for WebSockets (docs/rest.md)."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException, InvalidURL
from typing import Any, TypeVar

from turia.errors import ConfigError, FormatError, InputError, ResourceError
from turia.protocol.values import Name
from turia.schema import JsonObject, from_dict, read_json

T = TypeVar("T")


class BusyError(ResourceError):
    """The server is at its capacity, or stopping; try again later."""


class UnreachableError(ResourceError, ConnectionError):
    """The server does not answer, or not to the end."""


@dataclass(frozen=True)
class Language:
    """One of the languages of a session, which is a session itself."""

    language: str
    session: str


@dataclass(frozen=True)
class Begun:
    """The answer of a server that has begun a session."""

    session: Name
    secret: Name
    url: str | None = None
    languages: tuple[JsonObject, ...] = ()
    """Each a `Language`; a later server may say more of it."""


@dataclass(frozen=True)
class IssuedTicket:
    ticket: Name


def begin_session(server: str, key: str | None, chosen: dict[str, Any]) -> tuple[Begun, tuple[Language, ...]]:
    """The session, and those of its languages."""
    url = f"{server}/api/sessions"
    begun = _ask(Begun, url, key, chosen)
    return begun, tuple(_read(Language, url, item) for item in begun.languages)


def get_ticket(server: str, session: str, secret: str | None) -> str:
    """Without the secret, a viewer's."""
    return _ask(IssuedTicket, f"{server}/api/sessions/{session}/tickets", secret).ticket


def _ask(kind: type[T], url: str, bearer: str | None, body: dict[str, Any] | None = None) -> T:
    """The answer to a POST, as a Turia server gives it."""
    return _read(kind, url, _post(url, bearer, body))


def _read(kind: type[T], url: str, data: JsonObject) -> T:
    try:
        return from_dict(kind, data, pass_over=True)
    except ConfigError as error:
        raise InputError(f"{url}: not the answer of a Turia server: {error}") from None


def _post(url: str, bearer: str | None, body: dict[str, Any] | None) -> dict[str, Any]:
    """The JSON answer to a POST; what the server says against it is an error for people."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
    request = urllib.request.Request(url, json.dumps(body or {}).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return read_json(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            text = error.read(1000).decode("utf-8", "replace")
        # A proxy in front of servers that are away or begin anew says 404 or 502, in words of its own.
        if error.code >= 500 or not text.startswith('{"detail":'):
            raise BusyError(f"{url}: no stream is taken now ({error.code}): {_detail(text)}") from None
        raise InputError(f"{url}: refused with {error.code}: {_detail(text)}") from None
    except InvalidURL as error:
        raise InputError(f"{url}: not an address: {error}") from None
    except (HTTPException, FormatError) as error:
        raise UnreachableError(f"{url}: the answer broke off, or is none of a Turia server") from error
    except OSError as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise UnreachableError(f"{url.partition('/api/')[0]} cannot be reached: {reason}") from error


def _detail(text: str) -> str:
    """What a server says against a request, for people."""
    try:
        detail = json.loads(text)["detail"]
        if isinstance(detail, list):  # how servers of release 0.1 list values that are not allowed
            return "; ".join(f"{item['loc'][-1]}: {item['msg']}" for item in detail)
    except (ValueError, KeyError, IndexError, TypeError):
        return text
    return str(detail)
