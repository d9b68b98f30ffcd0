"""nginx and Caddy in front of a server under test, with the files of deploy/ and certificates of a local authority."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.servers import ROOT, free_port

DEPLOY = ROOT / "deploy"
NGINX = """
daemon off; {user} pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/turia.conf;
}}
"""
# No trust store of this machine is touched, and no port is opened but the one that is asked for.
CADDY = """
{{
    admin off
    skip_install_trust
    auto_https disable_redirects
}}
import {site}
"""


@dataclass(frozen=True)
class Proxy:
    url: str
    ca: Path
    """The certificate of its authority."""


def need(program: str) -> str:
    """Where a program is; where it is not, the test is skipped."""
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip(f"{program} is not installed (Debian's package of that name has it)")
    return found


@contextmanager
def nginx(folder: Path, upstream: int, leave_out: str = "") -> Iterator[Proxy]:
    """nginx with deploy/nginx.conf; lines with `leave_out` in them are left out."""
    program, port = need("nginx"), free_port()
    subprocess.run([DEPLOY / "local-ca.sh", "localhost", folder / "tls"], check=True, stdout=subprocess.DEVNULL)
    site = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for ours, here in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "captions.example.org": "localhost",
        "/etc/turia/tls/": f"{folder}/tls/",
        "127.0.0.1:8000": f"127.0.0.1:{upstream}",
    }.items():
        assert ours in site, ours
        site = site.replace(ours, here)
    lines = [line for line in site.splitlines() if not leave_out or leave_out not in line]
    (folder / "turia.conf").write_text("\n".join(lines))
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, user="user root;" if os.getuid() == 0 else ""))
    with running([program, "-p", str(folder), "-c", str(folder / "nginx.conf")], port, folder):
        yield Proxy(f"https://localhost:{port}", folder / "tls" / "ca.pem")


@contextmanager
def caddy(folder: Path, upstream: int) -> Iterator[Proxy]:
    """Caddy with deploy/Caddyfile, which makes its certificate by itself."""
    program, port = need("caddy"), free_port()
    (folder / "Caddyfile").write_text(CADDY.format(site=DEPLOY / "Caddyfile"))
    environment = {"TURIA_HOST": f"https://localhost:{port}", "TURIA_UPSTREAM": f"127.0.0.1:{upstream}"}
    homes = {name: str(folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    command = [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with running(command, port, folder, environment | homes):
        ca = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        # It takes connections before it has made its certificate, and ends them with an alert.
        while not _speaks_tls(port, ca):
            time.sleep(0.05)
        yield Proxy(f"https://localhost:{port}", ca)


@contextmanager
def running(command: list[str], port: int, folder: Path, environment: dict[str, str] | None = None) -> Iterator[None]:
    """A program that takes connections on a port; it is ended with the block."""
    log = folder / f"{Path(command[0]).name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=os.environ | (environment or {}))
    try:
        while not _takes_connections(port):
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def _takes_connections(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _speaks_tls(port: int, ca: Path) -> bool:
    if not ca.is_file():
        return False
    try:
        with socket.create_connection(("127.0.0.1", port)) as probe:
            ssl.create_default_context(cafile=str(ca)).wrap_socket(probe, server_hostname="localhost").close()
    except OSError:  # of TLS, too
        return False
    return True
