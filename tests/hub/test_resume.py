"""Weights that were partly fetched are fetched from there on, whatever ended the process that began."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hub.conftest import OPUS
from tests.hub.local_hub import LocalHub
from tests.hub.test_download import fetched, refusal
from turia.system.locks import hold

pytestmark = pytest.mark.slow


def test_a_download_that_was_killed_goes_on_where_it_was(hub: LocalHub, home: Path, tmp_path: Path) -> None:
    """The process is gone, and what it had fetched is not."""
    program = (
        "import sys; from huggingface_hub import constants; constants.DOWNLOAD_CHUNK_SIZE = 1000\n"
        "from turia.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    weights = "model.safetensors"
    hub.stall_at = (weights, 20_000)
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen([sys.executable, "-c", program, "models", "add", OPUS], env=environment) as adding:
        try:
            name = hashlib.sha256((hub.models[OPUS].folder / weights).read_bytes()).hexdigest()
            part = tmp_path / "cache" / "models--Helsinki-NLP--opus-mt-de-en" / "blobs" / f"{name}.incomplete"
            while not part.exists() or part.stat().st_size == 0:
                assert adding.poll() is None
                time.sleep(0.05)
        finally:
            adding.kill()
    hub.go_on.set()
    kept = part.stat().st_size
    assert 0 < kept <= 20_000
    assert not home.exists()
    hub.stall_at = None
    hub.asked.clear()
    folder = fetched(OPUS)
    assert ("GET", weights, f"bytes={kept}-") in hub.asked
    assert (folder / weights).read_bytes() == (hub.models[OPUS].folder / weights).read_bytes()
    assert not list(tmp_path.rglob("*.incomplete"))


def test_what_came_damaged_is_fetched_anew(hub: LocalHub, tmp_path: Path) -> None:
    content = (hub.models[OPUS].folder / "model.safetensors").read_bytes()
    blobs = tmp_path / "cache" / "models--Helsinki-NLP--opus-mt-de-en" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{hashlib.sha256(content).hexdigest()}.incomplete").write_bytes(b"of another file")
    assert "model.safetensors came damaged: its SHA-256 sum is not the hub's; try again" in refusal(OPUS)
    assert (fetched(OPUS) / "model.safetensors").read_bytes() == content


def test_two_processes_do_not_fetch_one_file(hub: LocalHub, tmp_path: Path) -> None:
    content = (hub.models[OPUS].folder / "model.safetensors").read_bytes()
    locks = tmp_path / "cache" / ".locks" / "models--Helsinki-NLP--opus-mt-de-en"
    locks.mkdir(parents=True)
    with hold(locks / f"{hashlib.sha256(content).hexdigest()}.lock", "wait"):
        assert f"in use by process {os.getpid()}; it fetches model.safetensors of {OPUS}" in refusal(OPUS)
    fetched(OPUS)
