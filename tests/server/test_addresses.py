"""Addresses that others can reach."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from turia.errors import InputError
from turia.server.addresses import Addresses, checked_public_url, host_of, reaches_others, url_of


def request(host: str, scheme: str = "http") -> Request:
    headers = [(b"host", host.encode())]
    return Request({"type": "http", "scheme": scheme, "path": "/", "query_string": b"", "headers": headers})


@pytest.mark.parametrize(
    ("host", "public", "asked", "base"),
    [
        ("0.0.0.0", "https://a.org", "127.0.0.1:8000", "https://a.org"),
        ("127.0.0.1", None, "captions.a.org", "https://captions.a.org"),
        ("0.0.0.0", None, "192.168.1.7:8000", "https://192.168.1.7:8000"),
        ("0.0.0.0", None, "127.0.0.1:8000", "http://10.0.0.9:8000"),
        ("::", None, "[::1]:8000", "http://10.0.0.9:8000"),
        ("192.168.1.7", None, "localhost:8000", "http://192.168.1.7:8000"),
        ("127.0.0.1", None, "localhost:9000", "https://localhost:9000"),
    ],
)
def test_links_have_the_address_that_others_reach(
    monkeypatch: pytest.MonkeyPatch, host: str, public: str | None, asked: str, base: str
) -> None:
    monkeypatch.setattr("turia.server.addresses.lan_address", lambda: "10.0.0.9")
    assert Addresses(host, 8000, public).base(request(asked, "https")) == base


def test_without_a_network_there_is_only_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turia.server.addresses.lan_address", lambda: None)
    assert Addresses("0.0.0.0").base() == "http://127.0.0.1:8000"
    assert Addresses().base() == "http://127.0.0.1:8000"
    assert not reaches_others("http://127.0.0.1:8000/room/a")
    assert not reaches_others("http://[::1]:8000")
    assert reaches_others("http://192.168.1.7:8000")


def test_a_public_url_is_checked() -> None:
    assert checked_public_url("https://a.org/") == "https://a.org"
    assert checked_public_url("http://[::1]:80") == "http://[::1]:80"
    for wrong in ("a.org", "ftp://a.org", "https://", "https://a.org/captions", "https://a.org?x", "https://[a"):
        with pytest.raises(InputError, match="expected https://HOST"):
            checked_public_url(wrong)


def test_hosts_are_told_from_ports() -> None:
    assert [host_of(text) for text in ("A.org:80", "a.org", "[::1]:80", "[::1]")] == [
        "a.org",
        "a.org",
        "[::1]",
        "[::1]",
    ]
    assert url_of("::1", 8000) == "http://[::1]:8000"
