"""A running server as a browser meets it: alone, behind nginx and Caddy, and behind a proxy that is set up wrong."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.proxies import Proxy, caddy, nginx
from tests.server.servers import FakeServer, free_port
from turia.commands import doctor_server
from turia.commands.doctor import Finding, worst
from turia.commands.doctor_server import examine_server, is_turia
from turia.errors import InputError
from turia.protocol.client import Speaker

pytestmark = pytest.mark.slow

KEY = "a-key-of-many-letters"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    folder = tmp_path_factory.mktemp("server")
    (folder / "keys").write_text(f"{KEY}\n")
    with FakeServer(folder, key_file=str(folder / "keys")) as server:
        yield server


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does much else answers late, and is no fault of the proxy's."""
    monkeypatch.setattr(doctor_server, "SECONDS", 60.0)


def problems(findings: list[Finding]) -> list[str]:
    return [finding.found for finding in findings if finding.state == "problem"]


def test_a_server_without_a_proxy_is_well(server: FakeServer) -> None:
    findings = list(examine_server(server.url))
    assert worst(findings) == "ok", findings
    assert "WebSockets come through" in [finding.found for finding in findings]
    assert is_turia(server.url)


def test_where_nothing_listens(server: FakeServer) -> None:
    [finding] = examine_server(f"http://127.0.0.1:{free_port()}")
    assert finding.state == "problem"
    assert "cannot be reached" in finding.found
    assert not is_turia(f"http://127.0.0.1:{free_port()}")


def test_addresses_that_are_none() -> None:
    with pytest.raises(InputError, match="--server captions: expected http://HOST:PORT"):
        list(examine_server("captions"))
    with pytest.raises(InputError, match=r"--server http://\[: expected http://HOST:PORT"):
        list(examine_server("http://["))
    with pytest.raises(InputError, match="--ca absent: cannot be read"):
        list(examine_server("https://localhost:1", Path("absent")))


def test_a_server_without_keys_answers_to_local_names_alone(tmp_path: Path) -> None:
    with FakeServer(tmp_path) as local:
        # A name that leads here, as a proxy's would, and is none of this machine's own.
        [finding] = examine_server(local.url.replace("127.0.0.1", "0.0.0.0"))
    assert "the server does not answer to this host name" in finding.found
    assert finding.mend.startswith("give it keys")


@pytest.mark.parametrize("proxy", [nginx, caddy])
def test_behind_the_proxies_of_deploy_all_is_well_and_a_speaker_is_captioned(
    proxy: Callable[[Path, int], AbstractContextManager[Proxy]],
    server: FakeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with proxy(tmp_path, server.port) as front:
        [untrusted] = examine_server(front.url)
        assert "its certificate is not trusted" in untrusted.found
        findings = list(examine_server(front.url, front.ca))
        assert problems(findings) == []
        assert {"the host name comes through", "WebSockets come through"} <= {finding.found for finding in findings}

        # What a speaker's program does, with the authority's certificate as an administrator would install it.
        monkeypatch.setenv("SSL_CERT_FILE", str(front.ca))
        assert ssl.get_default_verify_paths().cafile == str(front.ca)

        async def speak() -> list[str]:
            async with Speaker(front.url, key=KEY, k=1) as speaker:
                await speaker.say("ka", "le", "mi.")
                await speaker.end()
                return [event["word"] async for event in speaker.events() if event["type"] == "write"]

        assert asyncio.run(speak()) == ["ka", "le", "mi"]


@pytest.mark.parametrize(
    ("left_out", "found"),
    [
        ("Host $http_host", "the server takes its own page for a stranger's"),
        ("Upgrade $http_upgrade", "a WebSocket is not let through"),
    ],
)
def test_a_proxy_that_is_set_up_wrong_is_told_what_to_mend(
    left_out: str, found: str, server: FakeServer, tmp_path: Path
) -> None:
    with nginx(tmp_path, server.port, left_out) as front:
        findings = list(examine_server(front.url, front.ca))
    told = [finding for finding in findings if finding.state == "problem"]
    assert any(found in finding.found for finding in told), findings
    assert all("nginx: `proxy_" in finding.mend for finding in told)
