"""Signals during long work: noted, obeyed where the work can be left, and the second one ends the process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from turia.errors import Stopped
from turia.system.signals import SIGNALS, StopRequests


def test_the_second_signal_is_the_old_one() -> None:
    stop, before = StopRequests(), signal.getsignal(signal.SIGINT)
    with stop.noted():
        signal.raise_signal(signal.SIGINT)
        assert stop.number == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_may_come_while_handlers_are_put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noted, and the next one is the old one, as ever."""
    install = signal.signal

    def interrupted(number: signal.Signals, handler: Any) -> Any:
        before = install(number, handler)
        monkeypatch.undo()
        signal.raise_signal(number)
        return before

    stop, before = StopRequests(), [signal.getsignal(number) for number in SIGNALS]
    monkeypatch.setattr(signal, "signal", interrupted)
    with stop.noted():
        assert stop.number == SIGNALS[0]
        assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_thread_works_without_handlers() -> None:
    """Only the main thread may have them."""
    entered = []

    def work() -> None:
        with StopRequests().noted():
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [True]


def test_what_is_to_follow_a_signal_is_called_once() -> None:
    came: list[int] = []
    stop = StopRequests(lambda: came.append(stop.number))
    with stop.noted():
        signal.raise_signal(signal.SIGTERM)
    assert came == [signal.SIGTERM]


def test_work_that_may_be_left_is_left_at_once() -> None:
    stop = StopRequests()
    with stop.noted(), pytest.raises(Stopped) as stopped, stop.obeyed_at_once():
        signal.raise_signal(signal.SIGTERM)
    assert stopped.value.exit_code == 128 + signal.SIGTERM


def test_a_signal_before_work_that_may_be_left_keeps_it_from_beginning() -> None:
    stop = StopRequests()
    with stop.noted():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Stopped), stop.obeyed_at_once():
            pytest.fail("it has begun")


@pytest.mark.parametrize("before", [True, False])
def test_waiting_ends_with_a_signal(before: bool) -> None:
    """Whether the signal comes before or while it waits."""
    stop = StopRequests()
    with stop.noted():
        if before:
            signal.raise_signal(signal.SIGTERM)
        else:
            threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGTERM)).start()
        stop.wait()
    assert stop.number == signal.SIGTERM


def test_items_come_until_a_signal() -> None:
    def words() -> Iterator[str]:
        yield "one"
        yield "two"
        signal.raise_signal(signal.SIGINT)
        yield "three"

    stop = StopRequests()
    with stop.noted():
        assert list(stop.until(words())) == ["one", "two"]
    assert stop.number == signal.SIGINT
    assert list(StopRequests().until("ab")) == ["a", "b"]
