"""Seconds from `exec` until a server answers, by processor and clock: `python -m benchmarks.start [TIMES] [OPTIONS]`.

The first page is the 200 of `/`; the server is ready at that of `/readyz`. Options are those of `turia serve`. Other
programs change the clock's seconds and hardly the processor's, so the best of several starts counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from turia.server.serve import listen

PAUSE = 0.05
"""Between two questions: answering them takes some of the processor, too."""


def processor_seconds(process: int) -> float:
    """That a process and its threads have used so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return int(answer.status) == 200
    except urllib.error.URLError:
        return False


def start(options: list[str]) -> dict[str, tuple[float, float]]:
    """Processor and clock of one start, at the first page and when it is ready."""
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    found = {}
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "turia", "serve", "--port", str(port), "--data", data, *options]
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                for name, path in {"first page": "/", "ready": "/readyz"}.items():
                    while not answers(f"http://127.0.0.1:{port}{path}"):
                        assert server.poll() is None, "the server has ended"
                        time.sleep(PAUSE)
                    found[name] = (processor_seconds(server.pid), time.monotonic() - began)
            finally:
                server.terminate()
    return found


if __name__ == "__main__":
    times, chosen = int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2:]
    starts = [start(chosen) for _ in range(times)]
    for name in starts[0]:
        processor, clock = (min(one[name][which] for one in starts) for which in (0, 1))
        print(json.dumps({"until": name, "processor": round(processor, 2), "clock": round(clock, 2), "starts": times}))
