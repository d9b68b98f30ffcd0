"""The public address of the client has the client's own classes."""

from __future__ import annotations

import turia.client
from turia.protocol import calls, client


def test_the_names_are_those_of_the_protocol() -> None:
    assert sorted(turia.client.__all__) == ["BusyError", "Follower", "LostError", "Speaker", "UnreachableError"]
    for name in turia.client.__all__:
        assert getattr(turia.client, name) is getattr(client if name in vars(client) else calls, name)
