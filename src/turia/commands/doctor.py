"""`turia doctor`: checks what an installation needs to serve for years, and says what to mend.

A check returns findings; it raises no error for a problem that it finds. It changes nothing: it writes no file and
starts no session. The checks of a running server are in `doctor_server`.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from turia import __version__
from turia.commands.extras import EXTRAS, has
from turia.commands.recognisers import DEFAULT, NONE, check_recognisers
from turia.errors import TuriaError
from turia.runtime.glossary_file import read_glossary
from turia.runtime.home import added_models, packaged_models
from turia.runtime.kernels import named
from turia.runtime.translator import Translator
from turia.server.glossaries import parse_tables
from turia.server.limits import Limits
from turia.server.serve import listen, read_keys, url_of
from turia.server.stores.sqlite import SCHEMA_VERSION
from turia.speech.choice import load_factory, parse_language_choice
from turia.speech.recogniser import RATE
from turia.text.counted import counted

State = Literal["ok", "warning", "problem"]
OTHER_FILES = 200
"""Files that a server has open beside its connections: models, the store, logs."""
LEAST_FREE, ENOUGH_FREE = 100e6, 1e9
"""Bytes of a disk. An hour of speech takes 3 MB (docs/server.md)."""
CLOCK_SECONDS = 5.0
"""Clocks that differ by more make times in transcripts and logs wrong."""


@dataclass(frozen=True)
class Finding:
    """What a check found."""

    subject: str
    state: State
    found: str
    mend: str = ""
    """What to do about it."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        """The findings as lines for a terminal."""
        first = f"{self.state:8} {self.subject:10} {self.found}"
        return [first, *([f"{'':8} {'':10} → {self.mend}"] if self.mend else [])]


@dataclass(frozen=True)
class Installation:
    """What is checked, given by the same options as for `turia serve`."""

    host: str
    port: int
    data: Path
    models: tuple[str, ...] = ()
    key_file: Path | None = None
    store: str | None = None
    operator_key_file: Path | None = None
    glossaries: tuple[str, ...] = ()
    recognisers: tuple[str, ...] | None = None


def examine(installation: Installation) -> Iterator[Finding]:
    """All checks that need no running server."""
    yield from check_packages()
    yield from check_models(installation.models)
    yield from check_glossaries(installation.glossaries)
    yield from check_speech(installation.recognisers)
    yield from check_port(installation.host, installation.port)
    yield from check_files(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    yield from check_clock()
    for path in (installation.key_file, installation.operator_key_file):
        if path is not None:
            yield from check_keys(path)
    if installation.store is None:
        yield from check_data(installation.data)
    else:
        yield from check_store(installation.store)


def worst(findings: Iterable[Finding]) -> State:
    states = {finding.state for finding in findings}
    return "problem" if "problem" in states else "warning" if "warning" in states else "ok"


def check_packages() -> Iterator[Finding]:
    extras = [extra for extra in EXTRAS if has(extra)]
    yield Finding(
        "turia",
        "ok",
        f"{__version__}, Python {platform.python_version()}, extras: {', '.join(extras) or 'none'}",
    )


def check_models(names: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Whether each model folder is complete, by its checksums, and translates."""
    chosen = names or (*packaged_models(), *added_models())
    if not chosen:
        mend = "give --model FOLDER, here and to `turia serve`; `turia export` makes such folders"
        yield Finding("models", "problem", "no model came with this package", mend)
    for name in chosen:
        try:
            began = time.perf_counter()
            # With the model's own policy: one that was added may know no other.
            translator = Translator.load(name)
            stream = translator.stream(punctuation=True)
            written = [record for word in ("eins", "zwei", "drei.") for record in stream.push(word)] + stream.flush()
        except TuriaError as error:
            mend = "install Turia again, or export the model again; a file that was altered is not used"
            if name in added_models():
                mend = f"`turia models remove {name}`, and add it again (docs/models.md)"
            yield Finding("models", "problem", str(error), mend)
            continue
        seconds = time.perf_counter() - began
        ran = f"runs with {named(translator.model.backend)}"
        yield Finding(
            "models", "ok", f"{name}: whole; {len(written)} records for three words in {seconds:.1f} s; {ran}"
        )


def check_glossaries(options: Sequence[str]) -> Iterator[Finding]:
    """Whether each table of terms can be read."""
    for option in options:
        try:
            [table] = parse_tables([option])
            yield Finding("glossary", "ok", f"{table.path}: {len(read_glossary(table.path))} terms")
        except TuriaError as error:
            yield Finding("glossary", "problem", str(error), "correct that line of the table (docs/terms.md)")


def check_speech(choices: Sequence[str] | None) -> Iterator[Finding]:
    """Whether each recogniser of speech loads and takes sound."""
    if choices is None and not (has("audio") and has("speech")):
        yield Finding("speech", "ok", "no recogniser is installed; the speech extra has one for English")
        return
    for choice in [DEFAULT] if choices is None else choices:
        if choice == NONE:
            yield Finding("speech", "ok", "none is wanted")
            continue
        try:
            check_recognisers([choice])
            language, rest = parse_language_choice(choice)
            began = time.perf_counter()
            recogniser = load_factory(rest, language)(())
            recogniser.push(np.zeros(RATE, dtype=np.float32))
            recogniser.flush()
        except TuriaError as error:
            yield Finding("speech", "problem", str(error), "docs/speech.md says what a recogniser needs")
            continue
        seconds = time.perf_counter() - began
        yield Finding("speech", "ok", f"{choice}: took a second of {language} sound, loaded in {seconds:.1f} s")


def check_port(host: str, port: int) -> Iterator[Finding]:
    from turia.commands.doctor_server import is_turia

    try:
        listen(host, port).close()
    except TuriaError as error:
        if is_turia(url_of(host, port)):
            yield Finding("port", "ok", f"a Turia answers at {url_of(host, port)}")
        else:
            mend = f"another program has port {port}: stop it (`ss -ltnp` names it), or choose another --port"
            yield Finding("port", "problem", str(error), mend)
    else:
        yield Finding("port", "ok", f"{url_of(host, port)} is free")


def check_files(limit: int) -> Iterator[Finding]:
    """How many files the process may open; each connection needs one."""
    needed = Limits.sockets + OTHER_FILES
    if limit in (resource.RLIM_INFINITY, -1) or limit >= needed:
        yield Finding("files", "ok", f"{limit} may be open, {needed} are enough")
        return
    mend = "raise it: LimitNOFILE=65536 in the systemd unit, or `ulimit -n 65536` before `turia serve`"
    yield Finding("files", "warning", f"{limit} may be open; {Limits.sockets} connections need {needed}", mend)


def check_data(folder: Path) -> Iterator[Finding]:
    """The folder of the sessions: its disk, and the database in it."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield Finding("disk", "problem", f"{there}: cannot be written to", "give another --data, or its owner's rights")
        return
    free = shutil.disk_usage(there).free
    state: State = "problem" if free < LEAST_FREE else "warning" if free < ENOUGH_FREE else "ok"
    mend = "" if state == "ok" else "make room, or give a --data on another disk; a shorter --retention helps later"
    yield Finding("disk", state, f"{free / 1e9:.1f} GB free for sessions in {folder}", mend)
    if (folder / "sessions.sqlite").exists():
        yield from _check_file(folder / "sessions.sqlite")


def _check_file(path: Path) -> Iterator[Finding]:
    if path.stat().st_mode & 0o077:
        yield Finding("sessions", "warning", f"{path}: others may read what was said", f"chmod 600 {path}*")
    restore = "restore a backup (docs/operate.md), or move the file away; a new one is made"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            (whole,) = database.execute("PRAGMA quick_check(1)").fetchone()
            (count,) = database.execute("SELECT count(*) FROM sessions").fetchone() if version else (0,)
    except sqlite3.Error as error:
        yield Finding("sessions", "problem", f"{path}: cannot be read: {error}", restore)
        return
    if whole != "ok":
        yield Finding("sessions", "problem", f"{path}: damaged: {whole}", restore)
    elif version > SCHEMA_VERSION:
        mend = "install that release, or move the file away"
        yield Finding("sessions", "problem", f"{path}: of a newer release (version {version})", mend)
    else:
        yield Finding(
            "sessions", "ok", f"{path}: whole; {counted(count, 'session')}, {path.stat().st_size / 1e6:.1f} MB"
        )


def check_keys(path: Path) -> Iterator[Finding]:
    try:
        count = len(read_keys(path))
    except TuriaError as error:
        yield Finding("keys", "problem", str(error), "write one key a line; docs/server.md shows how to make one")
        return
    if path.stat().st_mode & 0o077:
        yield Finding("keys", "warning", f"{path}: others may read it", f"chmod 600 {path}")
    else:
        yield Finding("keys", "ok", f"{path}: {counted(count, 'key')}")


def check_store(url: str) -> Iterator[Finding]:
    """Whether Redis answers, keeps what it acknowledged, and agrees on the time."""
    from turia.server.stores.redis import RedisStore

    try:
        store = RedisStore(url)
    except TuriaError as error:
        yield Finding("store", "problem", str(error), "docs/scaling.md says how the Redis is to be set up")
        return
    with closing(store):
        seconds, micros = store.ask(store.client.time)
    yield Finding("store", "ok", "the Redis answers, and keeps what it acknowledges")
    yield from clock_beside("the Redis", seconds + micros / 1e6)


def check_clock() -> Iterator[Finding]:
    """Whether the clock is set: the system says so, or it is not earlier than the installation."""
    if time.time() < Path(__file__).stat().st_mtime:
        mend = "set the clock, and let NTP keep it: `timedatectl set-ntp true`"
        yield Finding("clock", "problem", "it is earlier than the time at which Turia was installed", mend)
        return
    synchronised = _ntp()
    if synchronised is None:
        yield Finding("clock", "ok", "plausible; whether NTP keeps it is not known here")
    elif synchronised:
        yield Finding("clock", "ok", "kept by NTP")
    else:
        yield Finding("clock", "warning", "NTP does not keep it", "`timedatectl set-ntp true`")


def _ntp() -> bool | None:
    """None where systemd does not know."""
    command = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {"yes": True, "no": False}.get(answer.stdout.strip())


def clock_beside(whose: str, there: float) -> Iterator[Finding]:
    """Compares our clock with another."""
    ahead = time.time() - there
    if abs(ahead) <= CLOCK_SECONDS:
        yield Finding("clock", "ok", f"that of {whose} is the same, within {CLOCK_SECONDS:.0f} s")
        return
    found = f"ours is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} that of {whose}"
    yield Finding("clock", "warning", found, "let NTP keep both clocks")
