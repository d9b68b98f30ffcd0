"""Several servers together: what they hold, and whose it is."""

from __future__ import annotations

from turia.server.cluster import Member, totals


def test_members_that_are_ready_are_added_up() -> None:
    together = totals(
        [
            Member("one", True, 3, 8, 2, {"a": 2, "b": 1}),
            Member("two", True, 4, 8, 1, {"a": 4}),
            Member("leaving", False, 5, 8, 4, {"a": 5}),
        ]
    )
    assert (together.members, together.streams, together.capacity) == (2, 7, 16)
    assert together.viewers == 7, "those of a server that is stopping are still there"
    assert together.owners == {"a": 6, "b": 1}
    assert not together.full


def test_without_a_ready_member_there_is_no_room() -> None:
    assert totals([Member("leaving", False, 0, 8, 0, {})]).full
