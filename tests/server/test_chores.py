"""Work of the server's own with its models."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.server.fakes import fake_translators
from turia.server.chores import warm, when_idle
from turia.server.stores.sqlite import SqliteStore
from turia.server.worker import Worker


def test_work_is_done_by_the_worker_and_its_result_comes_back(tmp_path: Path) -> None:
    async def run() -> None:
        store = SqliteStore(tmp_path / "sessions.sqlite")
        worker, loop = Worker(store, print), asyncio.get_running_loop()
        worker.start()
        assert await when_idle(worker, loop, lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await when_idle(worker, loop, lambda: 1 // 0)
        await asyncio.to_thread(worker.stop)
        store.close()

    asyncio.run(run())


def test_a_model_is_warmed_by_a_stream_to_its_end() -> None:
    translator = fake_translators()["de-en"]
    begun = []
    stream = translator.stream
    translator.stream = lambda **chosen: begun.append(stream(**chosen)) or begun[-1]  # type: ignore[method-assign, func-returns-value]
    warm(translator)
    assert (begun[-1].read, begun[-1].ended) == (3, True)
