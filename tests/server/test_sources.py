"""What sessions of one speaker share."""

from __future__ import annotations

import gc

import pytest

from tests.engine.fakes import Echo, fake_model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.segmenter.online import GivenSegmenter
from turia.server.sources import SharedSources


def stream(first_block: int | None = 2) -> Stream:
    return Stream(fake_model(Echo()), GivenSegmenter([3]), Settings(k=2, first_block=first_block))


def test_sessions_of_one_speaker_share_and_others_do_not() -> None:
    sources = SharedSources()
    leader, follower, stranger, plain = stream(), stream(), stream(), stream(None)
    sources.give("abc", leader)
    sources.give("abc.en-x-k8", follower)
    sources.give("abd", stranger)
    sources.give("abc.fr", plain)
    assert leader.shared is not None
    assert leader.shared is follower.shared
    assert leader.shared is not stranger.shared
    assert plain.shared is None


@pytest.mark.slow
def test_what_nobody_shares_any_more_is_forgotten() -> None:
    sources = SharedSources()
    kept, gone = stream(), stream()
    sources.give("abc", kept)
    sources.give("abd", gone)
    assert len(sources) == 2
    del gone
    gc.collect()
    assert len(sources) == 1
