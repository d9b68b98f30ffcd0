"""Other people's scorers, in an environment of their own: SimulEval, OmniSTEval and SimulStream's log reader.

They want old or large packages that Turia has no use for, so they are installed without their dependencies, beside the
few that they import, into a virtual environment that looks for the rest where it is told to: into ours. It is kept in
the user's cache, made once, by whichever test process comes first. Where it cannot be made the tests skip, and say why.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import site
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

PACKAGES = (
    "simuleval==1.1.4",
    "omnisteval==0.1.10",
    "simulstream==1.0.0",
    # What SimulEval imports when it starts.
    *("pandas", "python-dateutil", "six", "pytz", "pyyaml", "tornado", "tqdm", "textgrid"),
    *("requests", "urllib3", "idna", "charset-normalizer", "certifi"),
)

INSTALL_SECONDS, RETRY_SECONDS = 240, 600
"""Other tests, and other test processes, do not try in vain once more."""
SITES = "TURIA_TESTS_SITES"
# `addsitedir`, unlike PYTHONPATH, honours how Turia itself is installed.
LOOK_FOR_THE_REST = (
    f"import os, site; list(map(site.addsitedir, filter(None, os.environ.get({SITES!r}, '').split(os.pathsep))))\n"
)


class Scorers:
    """The environment's commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def environment(self) -> dict[str, str]:
        """What its commands need to find us."""
        return {SITES: os.pathsep.join(site.getsitepackages())}

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """Runs a command of the environment; what it printed."""
        program, *arguments = map(str, command)
        result = subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            capture_output=True, text=True, check=False, cwd=cwd,
            env=os.environ | self.environment(),
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        return result.stdout


def install_scorers() -> Scorers:
    """The environment, made if it is not there yet."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turia-tests"
    made_of = "\n".join((*PACKAGES, sys.base_prefix, sys.version, LOOK_FOR_THE_REST))
    folder = cache / f"scorers-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"
    ready, failed = folder / "ready", cache / "failed"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ready.exists():
                if failed.exists() and time.time() - failed.stat().st_mtime < RETRY_SECONDS:
                    pytest.skip(failed.read_text(encoding="utf-8"))
                try:
                    _make(folder)
                except subprocess.SubprocessError as error:
                    detail = str(getattr(error, "stderr", "") or error).strip().splitlines()
                    reason = f"SimulEval and OmniSTEval cannot be installed here: {detail[-1] if detail else error!r}"
                    failed.write_text(reason, encoding="utf-8")
                    pytest.skip(reason)
                ready.touch()
    except OSError as error:
        pytest.skip(f"SimulEval and OmniSTEval cannot be installed here: {error}")
    return Scorers(folder)


def _make(folder: Path) -> None:
    venv.create(folder, clear=True, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (packages / "rest.pth").write_text(LOOK_FOR_THE_REST, encoding="utf-8")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*install, *PACKAGES], capture_output=True, text=True, check=True, timeout=INSTALL_SECONDS)
