"""The public address of the client has the client's own classes."""

from __future__ import annotations

import turia.client
import turia.protocol.client


def test_the_names_are_those_of_the_protocol() -> None:
    assert sorted(turia.client.__all__) == ["BusyError", "Follower", "LostError", "Speaker", "UnreachableError"]
    for name in turia.client.__all__:
        assert getattr(turia.client, name) is getattr(turia.protocol.client, name)
