"""Who has a place on a server, and who is refused one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from turia.server.admission import RefusedError
from turia.server.limits import Limits
from turia.server.occupancy import Occupancy
from turia.server.places import Pace


def session(owner: str, *, joined: bool = True, awaited: bool = False, has_place: bool = True) -> Any:
    found = SimpleNamespace(owner=owner, pace=Pace(), joined=joined, awaited=awaited, readers=[])
    found.lead, found.holds_place = found, lambda now: has_place
    return found


class FakeManager:
    """What places are counted from."""

    def __init__(self, *sessions: Any, streams: int = 2) -> None:
        self.name, self.ready, self.takes_streams = "here", True, True
        self.limits = Limits(streams=streams, streams_per_key=streams)
        self.refused: list[str] = []
        self.metrics = SimpleNamespace(refused=self.refused.append)
        self._sessions = sessions

    def sessions(self) -> list[Any]:
        return list(self._sessions)


def occupancy(*sessions: Any, streams: int = 2) -> tuple[Occupancy, FakeManager]:
    manager: Any = FakeManager(*sessions, streams=streams)
    return Occupancy(manager), manager


def test_a_full_server_refuses_and_counts_it() -> None:
    places, manager = occupancy(session("a"), session("b"))
    with pytest.raises(RefusedError, match="all 2 streams are in use"):
        places.refuse_if_full("c")
    assert manager.refused == ["capacity"]
    occupancy(session("a"), session("b", has_place=False))[0].refuse_if_full("c")


def test_a_speaker_who_comes_goes_before_those_who_have_only_asked() -> None:
    places, _ = occupancy(session("a"), session("b", joined=False))
    with pytest.raises(RefusedError):
        places.refuse_if_full("c")
    places.refuse_if_full("c", joining=True)


def test_who_is_past_a_quota_or_comes_too_early_is_refused() -> None:
    places, manager = occupancy()
    places.past_quota = {"a"}
    places.refuse_if_full("b")
    with pytest.raises(RefusedError):
        places.refuse_if_full("a")
    manager.ready = False
    with pytest.raises(RefusedError, match="starting or stopping"):
        places.refuse_if_full("b")


def test_what_the_other_servers_are_told() -> None:
    viewer, speaker = SimpleNamespace(role="viewer"), SimpleNamespace(role="speaker")
    one = session("a")
    one.readers = [viewer, viewer, speaker]
    told = occupancy(one, session("a"), session("b", awaited=True), streams=5)[0].member()
    assert (told.name, told.streams, told.capacity, told.viewers, told.owners) == ("here", 2, 5, 2, {"a": 2})
