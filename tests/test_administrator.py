"""What an administrator does in some years, in a minute: build, install, serve, rotate a key, fill the disk, restore.

The wheel is built and installed by the steps of deploy/Dockerfile, except that packages which are here already are not
fetched again. The service is started as deploy/turia.service says, behind nginx and then behind Caddy, and Prometheus
reads it; each of the three is left out where it is not installed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.proxies import Proxy, caddy, nginx
from tests.server.servers import ROOT, answer_to, free_port
from tests.test_deploy import ALERTS, DASHBOARD, SPEECH_PANELS, UNIT, of, queries
from tests.test_readme import lines, marked_block, steps
from tests.watching import Prometheus, prometheus
from turia import __version__
from turia.protocol.client import Speaker

OLD, NEW = "the-key-of-last-year", "the-key-of-this-year"
WORDS = (ROOT / "src/turia/server/static/sample.de.txt").read_text(encoding="utf-8").split()

pytestmark = pytest.mark.slow


def build(folder: Path, age: float) -> Path:
    """Copies what the Dockerfile copies, files of that age, and builds wheel and sdist in `folder`/dist."""
    for copied in [path for line in of("COPY") if "--from" not in line for path in line.split()[:-1]]:
        if (ROOT / copied).is_dir():
            shutil.copytree(ROOT / copied, folder / copied, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / copied, folder / copied)
    for path in folder.rglob("*"):
        os.utime(path, (age, age))
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1790000000"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", "dist"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return folder / "dist"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("checkout"), 1_700_000_000)


@pytest.fixture(scope="module")
def turia(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as it is installed from the wheel."""
    place = tmp_path_factory.mktemp("opt") / "turia"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    [packages] = place.glob("lib/python*/site-packages")
    # What the plain install needs is here; Turia itself is the wheel's, as its own packages come first.
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    [wheel] = dist.glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True)
    return place / "bin" / "turia"


def alone() -> dict[str, str]:
    """An environment in which nothing leads to the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TURIA"))}


# --- release ----------------------------------------------------------------------------------------------------------


def test_the_same_files_give_the_same_bytes_wherever_and_whenever_they_are_built(dist: Path, tmp_path: Path) -> None:
    again = build(tmp_path, 1_750_000_000)
    names = sorted(path.name for path in dist.iterdir())
    assert names == [f"turia-{__version__}-py3-none-any.whl", f"turia-{__version__}.tar.gz"]
    for name in names:
        sums = {hashlib.sha256((folder / name).read_bytes()).hexdigest() for folder in (dist, again)}
        assert len(sums) == 1, name


def test_the_models_in_the_wheel_are_whole_and_nothing_is_missing(dist: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        files = {name: hashlib.sha256(wheel.read(name)).hexdigest() for name in wheel.namelist()}
        lists = [name for name in files if re.fullmatch(r"turia/models/[\w-]+/SHA256SUMS", name)]
        assert len(lists) == 2
        for name in lists:
            for line in wheel.read(name).decode().splitlines():
                expected, _, file = line.partition("  ")
                assert files[name.replace("SHA256SUMS", file)] == expected, file
        metadata = wheel.read(next(name for name in files if name.endswith("/METADATA"))).decode()
    source = {
        f"turia/{path.relative_to(ROOT / 'src/turia')}"
        for path in (ROOT / "src/turia").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in files if name.startswith("turia/")} == source
    assert f"\nVersion: {__version__}\n" in metadata
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in source} <= inside


def test_the_main_job_of_the_readme_runs_from_the_wheel(turia: Path) -> None:
    _, *arguments = steps("main command")[-1]
    result = subprocess.run([turia, *arguments], cwd=ROOT, env=alone(), capture_output=True, text=True, check=False)
    assert lines(result.stdout) == lines(marked_block("its output")), result.stderr


def test_an_error_that_advises_an_extra_names_the_wheel_and_this_environment(turia: Path, dist: Path) -> None:
    [wheel] = dist.glob("*.whl")
    program = "from turia.commands.extras import install_command; print(install_command('redis'))"
    python = turia.with_name("python")
    result = subprocess.run([python, "-c", program], env=alone(), capture_output=True, text=True, check=True)
    assert result.stdout.startswith(f"{python} -m pip install ")
    assert shlex.split(result.stdout)[-1] == f"{wheel}[redis]"


# --- years ------------------------------------------------------------------------------------------------------------


class Service:
    """What systemd does with the unit: it sets up folders and environment, starts, and stops."""

    def __init__(self, turia: Path, folder: Path) -> None:
        self.port, self.data, self.keys = free_port(), folder / "lib" / "turia", folder / "credentials" / "keys"
        self.log = folder / "journal"
        for made in (self.data, self.keys.parent):
            made.mkdir(mode=0o700, parents=True)
        [line] = re.findall(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
        environment = {"XDG_STATE_HOME": str(self.data.parent), "CREDENTIALS_DIRECTORY": str(self.keys.parent)}
        for name, value in environment.items():
            line = line.replace(f"${{{name}}}", value)
        options = f"--port {self.port} --model de-en --streams 3 --beam 1"
        _, *arguments = shlex.split(line.replace("$TURIA_OPTIONS", options))
        self._command, self._environment = [str(turia), *arguments], alone() | environment
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)
        while not self.healthy():
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0

    def restart(self) -> None:
        self.stop()
        self.start()

    def healthy(self) -> bool:
        """By the command of the image's health check."""
        [check] = of("HEALTHCHECK")
        _, *command = json.loads(check.partition("CMD ")[2].replace(":8000", f":{self.port}"))
        return subprocess.run([sys.executable, *command], capture_output=True, check=False).returncode == 0

    def ask(self, path: str, key: str = NEW, body: dict[str, Any] | None = None) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        return answer_to(asked)


def is_installed(program: str) -> bool:
    return any(shutil.which(program, path=path) for path in (None, "/usr/sbin"))


@contextmanager
def in_front_of(
    service: Service, proxy: Callable[[Path, int], AbstractContextManager[Proxy]], folder: Path
) -> Iterator[str]:
    """The address of a proxy before the service, which clients trust; of the service itself without the proxy."""
    if not is_installed(proxy.__name__):
        yield f"http://127.0.0.1:{service.port}"
        return
    folder.mkdir()
    with proxy(folder, service.port) as front, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(front.ca))
        yield front.url


@contextmanager
def watched(service: Service, folder: Path) -> Iterator[Prometheus | None]:
    """Prometheus, if it is installed. It has the key of last year, which is good until the end of its session."""
    if not is_installed("prometheus"):
        yield None
        return
    (folder / "turia-key").write_text(OLD)
    with prometheus(folder, service.port, folder / "turia-key") as found:
        yield found


def check_figures(watch: Prometheus) -> None:
    """That every panel of the dashboard has something to show, and every alert can be judged."""
    panels = [panel for panel in DASHBOARD["panels"] if panel["title"] not in SPEECH_PANELS]
    for panel in panels:
        for target in panel["targets"]:
            assert watch.wait_for(target["expr"]), (panel["title"], target["expr"])
    assert watch.ask("label/instance/values", **{"match[]": "turia_streams"}) != []
    names = [rule["alert"] for group in ALERTS["groups"] for rule in group["rules"]]
    assert watch.rules() == dict.fromkeys(names, "ok")


async def speak_again(service: Service, url: str) -> None:
    async with Speaker(url, key=NEW, k=2) as speaker:
        await speaker.say(*WORDS[:5])
        await stored(service, speaker.session, 5)
        await speaker.end()
        async for _ in speaker.events():
            pass


def source_words(service: Service, session: str) -> list[str]:
    status, text = service.ask(f"/api/sessions/{session}/transcript.txt?side=source")
    assert status == 200
    return text.split()


async def stored(service: Service, session: str, count: int) -> None:
    """Waits until so many words are stored."""
    while len(await asyncio.to_thread(source_words, service, session)) < count:
        await asyncio.sleep(0.05)


async def speak_for_years(service: Service, url: str, backup: Path) -> tuple[str, str]:
    """One session through a restart for a new key, a backup and a full disk. Gives its name, and its secret."""
    async with Speaker(url, key=OLD, k=2) as speaker:
        await speaker.say(*WORDS[:10])
        await stored(service, speaker.session, 10)
        # A new key comes. The old one stays while sessions run that were begun with it.
        service.keys.write_text(f"{OLD}\n{NEW}\n")
        await asyncio.to_thread(service.restart)
        assert (await asyncio.to_thread(service.ask, "/api/sessions", NEW, {}))[0] == 201
        await speaker.say(*WORDS[10:20])
        await stored(service, speaker.session, 20)

        def copy() -> None:
            with (
                closing(sqlite3.connect(service.data / "sessions.sqlite")) as live,
                closing(sqlite3.connect(backup)) as copied,
            ):
                live.backup(copied)

        await asyncio.to_thread(copy)
        # No file may grow any more, as on a full disk. What was said is kept by the client until there is room.
        unlimited = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        status, answer = await asyncio.to_thread(service.ask, "/api/sessions", NEW, {})
        assert (status, json.loads(answer)["code"]) == (503, "store")
        await speaker.say(*WORDS[20:30])
        await asyncio.sleep(0.3)
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, unlimited)
        await stored(service, speaker.session, 30)
        await speaker.end()
        async for _ in speaker.events():
            pass
        assert speaker._secret is not None
        return speaker.session, speaker._secret


def test_years_with_one_session(turia: Path, tmp_path: Path) -> None:
    service, backup = Service(turia, tmp_path), tmp_path / "backup.sqlite"
    service.keys.write_text(f"{OLD}\n")
    service.start()
    try:
        with watched(service, tmp_path) as watch, in_front_of(service, nginx, tmp_path / "nginx") as url:
            # A rate needs a reading from before: of words that were said sooner, Prometheus would see no increase.
            assert watch is None or watch.wait_for("up == 1")
            session, secret = asyncio.run(speak_for_years(service, url, backup))
            if watch is not None:
                check_figures(watch)
        assert source_words(service, session) == WORDS[:30]
        page = service.ask("/metrics")[1]
        for query in queries(speech=False):
            for name in re.findall(r"\bturia_\w+", query):
                assert re.search(rf"^{name}\b", page, re.MULTILINE), name

        # The backup is restored, as an old release would have left it: without the columns that came later.
        service.stop()
        with closing(sqlite3.connect(backup)) as copied:
            copied.executescript(
                "ALTER TABLE sessions DROP COLUMN turn; ALTER TABLE sessions DROP COLUMN token;"
                "ALTER TABLE sessions DROP COLUMN head_sum; ALTER TABLE sessions DROP COLUMN state_sum;"
                "ALTER TABLE events DROP COLUMN sum; PRAGMA user_version = 1;"
            )
        for file in service.data.glob("sessions.sqlite*"):
            file.unlink()
        shutil.copy(backup, service.data / "sessions.sqlite")
        service.start()
        assert source_words(service, session) == WORDS[:20]
        status, ticket = service.ask(f"/api/sessions/{session}/tickets", secret, {})
        assert (status, json.loads(ticket)["role"]) == (201, "speaker"), "it can be gone on with"

        # The old key goes, and with it whoever spoke with it.
        service.keys.write_text(f"{NEW}\n")
        service.restart()
        assert service.ask("/api/sessions", OLD, {})[0] == 401
        assert service.ask("/api/sessions", NEW, {})[0] == 201
        assert service.ask(f"/api/sessions/{session}/tickets", secret, {})[0] == 403
        with in_front_of(service, caddy, tmp_path / "caddy-before") as url:
            asyncio.run(speak_again(service, url))
    finally:
        service.process.kill()
        service.process.wait()
    log = service.log.read_text()
    assert not any(word in log for word in WORDS[:30] if len(word) > 6)
    assert not any(key in log for key in (OLD, NEW, secret, session))
    told = [json.loads(line)["message"] for line in log.splitlines() if line.startswith("{")]
    assert [told.count(message) for message in ("ready", "draining", "stopped")] == [4, 3, 3]
    assert {"session begins", "session resumes", "session ends"} <= set(told)
