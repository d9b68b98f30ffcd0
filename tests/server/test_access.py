"""Keys, tickets, origins, rates."""

from __future__ import annotations

import pytest

from turia.server import access
from turia.server.access import LOCAL, Keys, Tickets, hash_secret, is_loopback, matches, origin_allowed
from turia.server.limits import Bucket


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org", "localhost.example.org", ""])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_keys() -> None:
    keys = Keys(["one", "two"])
    assert keys.owner("one") not in (None, keys.owner("two"))
    assert keys.owner("three") is None
    assert keys.owner(None) is None
    assert "one" not in str(keys.owner("one"))
    assert Keys().owner(None) == LOCAL


def test_no_secret_looks_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """`turia relay SESSION` takes a session's id, which is made of a secret."""
    drawn = iter(["-fgh", "--ab", "a-bc"])
    monkeypatch.setattr("turia.server.access.secrets.token_urlsafe", lambda _: next(drawn))
    assert access.new_secret() == "a-bc"


def test_secrets_are_compared_by_hash() -> None:
    assert matches("s", hash_secret("s"))
    assert not matches("t", hash_secret("s"))
    assert not matches(None, hash_secret("s"))
    assert not matches("\ud800", hash_secret("s"))


def test_a_ticket_is_good_once_and_not_for_long() -> None:
    tickets: Tickets[str] = Tickets(seconds=30)
    ticket = tickets.issue("session", now=100)
    assert tickets.use("another", now=101) is None
    assert tickets.use(ticket, now=129) == "session"
    assert tickets.use(ticket, now=129) is None
    late = tickets.issue("session", now=100)
    assert tickets.use(late, now=131) is None


@pytest.mark.parametrize(
    ("origin", "host", "keyed", "fine"),
    [
        (None, "localhost:8000", False, True),
        ("http://localhost:8000", "localhost:8000", False, True),
        ("http://[::1]:8000", "[::1]:8000", False, True),
        ("http://evil.example", "localhost:8000", False, False),
        ("http://localhost:9000", "localhost:8000", False, False),
        # A name of somebody else that points here.
        ("http://evil.example:8000", "evil.example:8000", False, False),
        (None, "evil.example:8000", False, False),
        ("https://captions.example", "captions.example", True, True),
        ("https://evil.example", "captions.example", True, False),
        ("https://allowed.example", "captions.example", True, True),
        ("null", "localhost:8000", False, False),
        ("http://[bad", "localhost:8000", False, False),
        (None, "[bad", False, False),
        # What some parsers take for a user, a fragment or a path before the local name.
        (None, "evil.example@127.0.0.1", False, False),
        (None, "127.0.0.1#evil.example", False, False),
        (None, "127.0.0.1?evil.example", True, False),
        (None, "127.0.0.1\\evil.example", False, False),
        (None, "127.0.0.1:80:90", False, False),
        (None, "LOCALHOST:8000", False, True),
        # A program that sends no host.
        (None, "", True, True),
        (None, "", False, False),
    ],
)
def test_origins(origin: str | None, host: str, keyed: bool, fine: bool) -> None:
    assert origin_allowed(origin, host, ["https://allowed.example"], keyed) is fine


def test_a_bucket_lets_a_burst_through_and_then_its_rate() -> None:
    bucket = Bucket(rate=10, burst=100, now=0)
    assert bucket.take(100, now=0) == 0
    assert bucket.take(20, now=0) == 2
    assert bucket.take(10, now=2) == 1
    assert bucket.take(100, now=1000) == 0
    # A clock that goes back gives nothing.
    assert bucket.take(10, now=0) == 1


def test_a_host_is_no_longer_than_names_are() -> None:
    """Codes of it are made for everybody."""
    assert origin_allowed(None, "a" * 253 + ":8000", (), keyed=True)
    assert not origin_allowed(None, "a" * 254, (), keyed=True)


@pytest.mark.parametrize("host", ["[::::]", "[.]", "[1.2.3.4]", "[:]:8000"])
def test_what_stands_in_brackets_is_an_address(host: str) -> None:
    """The links that are made of a Host header are parsed again, which failed with these: an error 500 for anybody."""
    assert not origin_allowed(None, host, (), keyed=True)
    assert origin_allowed(None, "[2001:db8::1]:8000", (), keyed=True)


def test_expired_tickets_go_first() -> None:
    tickets: Tickets[int] = Tickets(seconds=30)
    old = [tickets.issue(number, now=0.0) for number in range(3)]
    later = tickets.issue(3, now=20.0)
    tickets.issue(4, now=40.0)
    assert [tickets.use(ticket, now=20.0) for ticket in (*old, later)] == [None, None, None, 3]
