"""Work over processes: order kept, deaths reported, nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from turia.errors import ResourceError
from turia.system.processes import in_another_process, in_processes


@pytest.mark.parametrize("processes", [1, 2])
def test_results_keep_the_order_and_tasks_are_drawn_as_needed(processes: int) -> None:
    drawn = []

    def tasks() -> Iterator[int]:
        for number in range(40):
            drawn.append(number)
            yield number

    results = in_processes(abs, tasks(), processes)
    assert next(results) == 0
    assert len(drawn) <= 2 * processes + 1
    assert list(results) == list(range(1, 40))


def test_a_worker_that_dies_is_reported() -> None:
    with pytest.raises(ResourceError, match=r"a worker process died.*run again"):
        list(in_processes(os._exit, [3], processes=2))


def test_an_error_of_the_work_comes_through() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(in_processes(int, ["1", "one"], processes=2))


ORPHANS = """
import sys, time, traceback
from turia.system.processes import in_processes

def work(seconds):
    if seconds:
        print("working", flush=True)
    time.sleep(seconds)

def deal_with(result):
    print("dealing", flush=True)
    time.sleep(600)

if __name__ == "__main__":
    # The first result is given when five tasks are drawn.
    tasks = [0, 600, 600, 600, 600, 600]
    if sys.argv[1] == "dealing":
        for result in in_processes(work, tasks, processes=2):
            deal_with(result)
    else:
        try:
            list(in_processes(work, tasks, processes=2))
        except KeyboardInterrupt as interrupt:
            print("interrupted in", traceback.extract_tb(interrupt.__traceback__)[-1].name)
            raise
"""


@pytest.mark.parametrize(
    ("how", "when"), [(signal.SIGKILL, "working"), (signal.SIGINT, "working"), (signal.SIGINT, "dealing")]
)
def test_workers_end_with_a_parent_that_is_stopped(tmp_path: Path, how: signal.Signals, when: str) -> None:
    """While a worker works and the parent waits for it, or deals with a result.

    The workers hold the parent's standard output: it ends only when they have all ended.
    """
    (tmp_path / "orphans.py").write_text(ORPHANS, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "orphans.py"), when]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout is not None
        try:
            # Where output is not buffered (PYTHONUNBUFFERED), others may write before the end of the line.
            while when not in parent.stdout.readline():
                assert parent.poll() is None
            parent.send_signal(how)
            rest, _ = parent.communicate(timeout=120)
        finally:
            parent.kill()
    # Within concurrent.futures, an interrupt could leave a lock behind, and the parent would wait for its workers.
    if (how, when) == (signal.SIGINT, "working"):
        assert "interrupted in pthread_sigmask" in rest


def test_another_process_does_the_work() -> None:
    assert in_another_process(os.getpid) != os.getpid()
    assert in_another_process(max, 3, 5) == 5
