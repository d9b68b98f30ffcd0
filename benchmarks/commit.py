"""Which state of the code a figure was measured with."""

from __future__ import annotations

import subprocess
from datetime import date

from turia.experiments.bench import processor


def stamp() -> dict[str, str]:
    """What figures that are kept begin with."""
    return {"machine": processor(), "date": str(date.today()), "commit": commit()}


def commit() -> str:
    """The short name of the commit that is checked out."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
