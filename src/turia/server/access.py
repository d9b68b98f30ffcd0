"""Who may do what: API keys, session secrets, one-use tickets, origins of pages. Pure: the caller passes the time.

Nothing secret is kept as it is: keys and secrets are compared by their hashes, in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")
LOCAL = "local"
"""The owner of all sessions where no key is asked for."""
OWNER_DIGITS = 12
"""Of the hash of a key, as a name of its owner."""
MAX_TICKETS = 10_000
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]{1,253})(:[0-9]{1,5})?")
"""A Host header: a name or an address, perhaps a port. Nothing that a parser of addresses could take for a user."""


def new_secret() -> str:
    """256 random bits for a URL, a header or a command line, where a leading hyphen would make it an option."""
    while (secret := secrets.token_urlsafe(32)).startswith("-"):
        pass
    return secret


def hash_secret(secret: str) -> str:
    """Secrets are long and random: a plain hash is enough, no salt or stretching."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def matches(secret: str | None, hashed: str) -> bool:
    return secret is not None and hmac.compare_digest(hash_secret(secret), hashed)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    """Whether what stands in brackets, if it does, is an address: parsers of links fail with anything else there."""
    if not name.startswith("["):
        return True
    try:
        ipaddress.IPv6Address(name.strip("[]"))
    except ValueError:
        return False
    return True


class Keys:
    """The API keys of a server; none on a loopback address."""

    def __init__(self, keys: Collection[str] = ()) -> None:
        self._hashes = [hash_secret(key) for key in keys]

    def replace(self, keys: Collection[str]) -> tuple[set[str], set[str]]:
        """Other keys from now on; the owners that are new, and those that are gone."""
        before = self._owners()
        self._hashes = [hash_secret(key) for key in keys]
        now = self._owners()
        return now - before, before - now

    def knows(self, owner: str) -> bool:
        """Whether a session's owner still has a key. What was begun without keys belongs to whoever has its secret."""
        return owner == LOCAL or owner in self._owners()

    def _owners(self) -> set[str]:
        return {hashed[:OWNER_DIGITS] for hashed in self._hashes}

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def owner(self, key: str | None) -> str | None:
        """Whose key this is, as a name that does not reveal the key; None if the key is not known."""
        if not self._hashes:
            return LOCAL
        found = [hashed for hashed in self._hashes if matches(key, hashed)]
        return found[0][:OWNER_DIGITS] if found else None


def bearer(authorization: str | None) -> str | None:
    """The token of an Authorization header."""
    kind, _, value = (authorization or "").partition(" ")
    return value if kind.lower() == "bearer" and value else None


def origin_allowed(origin: str | None, host: str, allowed: Collection[str], keyed: bool) -> bool:
    """Whether a page of `origin` may talk to the server that it called `host` (the Host header).

    Programs that are no browsers send no origin. A page of ours has the host itself as its origin; without keys that
    host must be a loopback name, or any site could have its name point here.
    """
    found = _HOST.fullmatch(host)
    if host and (found is None or not _is_address(found[1])):
        return False
    if not keyed and (found is None or not is_loopback(found[1].lower())):
        return False
    try:
        own = urlsplit(origin or "").netloc == host
    except ValueError:
        return False
    return origin is None or origin in allowed or own


@dataclass(frozen=True)
class _Kept(Generic[T]):
    value: T
    until: float


class Tickets(Generic[T]):
    """One-use tickets that soon expire: what a socket shows in place of a key or a secret."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: dict[str, _Kept[T]] = {}

    def issue(self, value: T, now: float) -> str:
        """A ticket that stands for `value`."""
        # In the order in which they expire. Past the limit the oldest is dropped; its owner can ask for another.
        while self._kept and (len(self._kept) >= MAX_TICKETS or next(iter(self._kept.values())).until < now):
            del self._kept[next(iter(self._kept))]
        ticket = new_secret()
        self._kept[ticket] = _Kept(value, now + self._seconds)
        return ticket

    def use(self, ticket: str, now: float) -> T | None:
        """What the ticket stands for; None if it was used before, is too old or was never issued."""
        kept = self._kept.pop(ticket, None)
        return None if kept is None or kept.until < now else kept.value
