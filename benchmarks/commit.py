"""Which machine and which state of the code a figure was measured with."""

from __future__ import annotations

import os
import subprocess
from datetime import date
from pathlib import Path

from turia.experiments.bench import processor
from turia.runtime.kernels import why_no_package


def stamp() -> dict[str, str]:
    """What figures that are kept begin with."""
    return {"machine": machine(), "date": str(date.today()), "commit": commit()}


def machine() -> str:
    """The processor, its cores, and what native code uses of it: processors of one name differ in that."""
    parts = [processor(), f"{os.cpu_count()} cores"]
    if why_no_package() is None:
        from turia_kernels import variants

        parts.append(variants()[0])
    return ", ".join(parts)


def commit() -> str:
    """The short name of the commit that is checked out; it ends in `-dirty` if files have been changed since."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    place = Path(__file__).parent
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
