"""benchmarks/server_streams.py at a small size: a real model, and networks that lose and mix up messages."""

from __future__ import annotations

import pytest

from benchmarks.server_streams import compare


@pytest.mark.slow
def test_streams_of_bad_networks_are_those_of_turia_translate() -> None:
    assert compare(streams=4, words=24, beam=1)
