"""The worker: batches, fairness, and that one session's failure is its own."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Never

import pytest

from tests.engine.fakes import Echo
from tests.server.fakes import fake_translators
from turia.engine.backend import Steps
from turia.engine.tail import Tentative
from turia.policy.waitk import WaitK
from turia.protocol.client_messages import SettingsChange, Words
from turia.protocol.events import EVENTS
from turia.server.captions import Captions, Tail, inputs_of
from turia.server.choices import StreamChoice
from turia.server.progress import Progress
from turia.server.stores.base import SessionUpdate, StoredSession, StoreError
from turia.server.stores.sqlite import SqliteStore
from turia.server.worker import INPUTS_PER_ROUND, Done, Failed, Task, Worker
from turia.stream.trace import Record

Reports = queue.SimpleQueue[Done | Failed]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "sessions.sqlite")
    yield opened
    opened.close()


TRANSLATORS = fake_translators()


def task(store: SqliteStore, name: str, model: str = "de-en") -> Task:
    captions, event = Captions.begin(TRANSLATORS, StreamChoice(model, WaitK(1), punctuation=True))
    stored = StoredSession(name, "owner", "hash", 0.0, 0.0, captions.progress, captions.state())
    store.create(stored, [EVENTS.to_json(event)])
    return Task(name, captions, 0.0)


def all_reports(store: SqliteStore, work: Sequence[tuple[Task, Words | SettingsChange]]) -> list[Done | Failed]:
    """Everything is submitted before the worker begins, so that it comes in one batch."""
    reports: list[Done | Failed] = []
    worker = Worker(store, reports.append, clock=lambda: 1.0)
    for one, words in work:
        worker.submit(one, inputs_of(words))
    worker.start()
    worker.stop()
    return reports


def test_sessions_share_batches_and_a_long_one_does_not_hold_up_a_short_one(store: SqliteStore) -> None:
    long, short = task(store, "long"), task(store, "short")
    backend = TRANSLATORS["de-en"].model.backend
    assert isinstance(backend, Echo)
    backend.batches.clear()
    reports = all_reports(store, [(long, Words(1, ("ka",) * 20)), (short, Words(1, ("le",)))])
    assert 2 in backend.batches
    assert [report.task.session_id for report in reports[:2]] == ["long", "short"]
    inputs = [report.progress.inputs for report in reports if isinstance(report, Done) and report.task is long]
    assert inputs == list(range(INPUTS_PER_ROUND, 21, INPUTS_PER_ROUND))
    stored = store.load("long")
    assert stored is not None
    assert stored.progress == Progress(20, len(store.events("long", 0, 100)[1]))


def test_a_chore_waits_until_no_session_does_and_its_failure_harms_nobody(store: SqliteStore) -> None:
    done: list[object] = []
    worker = Worker(store, done.append, clock=lambda: 1.0)

    def fails() -> None:
        done.append("fails")
        raise ValueError

    for chore in (fails, lambda: done.append("chore")):
        worker.do_when_idle(chore)
    worker.submit(task(store, "one"), inputs_of(Words(1, ("ka",) * 9)))
    worker.start()
    while "chore" not in done:
        time.sleep(0.01)
    worker.stop()
    assert [item if isinstance(item, str) else type(item) for item in done] == [Done, Done, Done, "fails", "chore"]


def test_a_session_that_changes_its_model_is_in_one_batch_of_a_round(store: SqliteStore) -> None:
    """It was in that of the new model too, with nothing to do; that ended the worker, and with it all captions."""
    turning, other = task(store, "turning"), task(store, "other", "en-de")
    reports = all_reports(store, [(turning, SettingsChange(1, model="en-de")), (other, Words(1, ("le",)))])
    assert [(type(report), report.task.session_id) for report in reports] == [(Done, "turning"), (Done, "other")]


def test_words_after_a_change_of_the_model_are_translated_by_the_new_one(store: SqliteStore) -> None:
    turning = task(store, "turning")
    old, new = (TRANSLATORS[name].model.backend for name in ("de-en", "en-de"))
    assert isinstance(old, Echo)
    assert isinstance(new, Echo)
    old.batches.clear()
    new.batches.clear()
    reports = all_reports(store, [(turning, SettingsChange(1, model="en-de")), (turning, Words(2, ("le", "mi")))])
    assert [report.progress.inputs for report in reports if isinstance(report, Done)] == [1, 3]
    assert old.batches == []
    assert new.batches != []


def test_a_session_that_fails_harms_no_other(store: SqliteStore, caplog: pytest.LogCaptureFixture) -> None:
    bad, good = task(store, "bad"), task(store, "good")

    def explode(word: str, seconds: float | None = None) -> Steps[list[Record]]:
        raise RuntimeError(f"cannot bear {word}")
        yield

    bad.captions.stream.push_steps = explode  # type: ignore[method-assign]
    reports = all_reports(store, [(bad, Words(1, ("geheim",))), (good, Words(1, ("le",))), (bad, Words(2, ("mi",)))])
    assert [(type(report), report.task.session_id) for report in reports] == [(Failed, "bad"), (Done, "good")]
    stored = store.load("bad")
    assert stored is not None
    assert stored.progress == Progress(0, 1)
    assert "geheim" not in caplog.text


def test_a_store_that_fails_fails_the_batch_and_not_the_worker(store: SqliteStore) -> None:
    class FullDisk(SqliteStore):
        def __init__(self) -> None:
            self.full = True

        def advance(self, updates: Sequence[SessionUpdate]) -> list[bool]:
            if self.full:
                self.full = False
                raise OSError("no space left on device")
            return store.advance(updates)

    first, second = task(store, "first"), task(store, "second")
    reports: Reports = queue.SimpleQueue()
    worker = Worker(FullDisk(), reports.put, clock=lambda: 1.0)
    worker.start()
    worker.submit(first, inputs_of(Words(1, ("ka",))))
    assert isinstance(reports.get(timeout=30), Failed)
    # What is submitted for a stream that is ahead of the store is left undone.
    worker.submit(first, inputs_of(Words(2, ("le",))))
    worker.submit(second, inputs_of(Words(1, ("ka",))))
    assert isinstance(reports.get(timeout=30), Done)
    worker.stop()
    assert reports.empty()


def test_what_fails_after_the_store_has_it_does_not_end_the_worker(store: SqliteStore) -> None:
    """Sessions that were done, or had failed, were looked for where they were not any more."""
    bad, first, second, later = (task(store, name) for name in ("bad", "first", "second", "later"))

    def explode(*_: object) -> Never:
        raise RuntimeError

    bad.captions.stream.push_steps = explode  # type: ignore[method-assign, assignment]
    first.lag.of = explode  # type: ignore[method-assign, assignment]
    reports: Reports = queue.SimpleQueue()
    worker = Worker(store, reports.put, clock=lambda: 1.0)
    for one in (bad, first, second):
        worker.submit(one, inputs_of(Words(1, ("ka",))))
    worker.start()
    found = [reports.get(timeout=30) for _ in range(3)]
    assert [(type(one), one.task.session_id) for one in found] == [
        (Failed, name) for name in ("bad", "first", "second")
    ]
    worker.submit(later, inputs_of(Words(1, ("ka",))))
    assert isinstance(reports.get(timeout=30), Done)
    worker.stop()


def test_without_a_store_sessions_are_let_go_and_can_come_back(store: SqliteStore) -> None:
    class Away(SqliteStore):
        def __init__(self) -> None:
            """Nothing is opened."""

        def advance(self, updates: Sequence[SessionUpdate]) -> list[bool]:
            raise StoreError("no answer")

    mine = task(store, "mine")
    reports: list[Done | Failed] = []
    worker = Worker(Away(), reports.append, clock=lambda: 1.0)
    worker.submit(mine, inputs_of(Words(1, ("ka",))))
    worker.start()
    worker.stop()
    assert reports == [Failed(mine, "store")]


def test_a_session_that_another_server_continued_is_let_go(store: SqliteStore) -> None:
    mine = task(store, "mine")
    claimed = store.claim("mine", store.next_turn("mine"))
    assert claimed is not None
    captions, _ = Captions.begin(TRANSLATORS, mine.captions.choice)
    theirs = replace(mine, captions=captions, token=claimed.token, waiting=[])
    assert isinstance(all_reports(store, [(theirs, Words(1, ("ka",)))])[0], Done)
    assert all_reports(store, [(mine, Words(1, ("le",)))]) == [Failed(mine, "moved")]
    _, events = store.events("mine", 1, 10)
    assert [(event["type"], event["word"]) for event in events] == [("source", "ka"), ("write", "ka")]


def test_only_the_newest_tail_is_looked_at_and_one_that_brings_nothing_is_not_stored(store: SqliteStore) -> None:
    one = task(store, "one")
    reports: list[Done | Failed] = []
    worker = Worker(store, reports.append, clock=lambda: 1.0)
    worker.submit(one, [Tail("no")])
    worker.submit(one, inputs_of(Words(1, ("ka",))))
    for tail in ("le", "le mi", "mi no"):
        worker.submit(one, [Tail(tail)])
    worker.start()
    worker.stop()
    [done] = reports
    assert isinstance(done, Done)
    assert done.tentative == Tentative(("mi", "no"), ("mi", "no"))
    assert done.progress == Progress(1, 3)
    stored = store.load("one")
    worker = Worker(store, reports.append, clock=lambda: 99.0)
    worker.submit(one, [Tail("no")])
    worker.start()
    worker.stop()
    assert len(reports) == 2
    assert store.load("one") == stored
