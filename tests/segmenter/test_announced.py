"""Sentence ends that another segmenter has found."""

from __future__ import annotations

import pytest

from turia.errors import InputError
from turia.segmenter.announced import AnnouncedSegmenter
from turia.segmenter.online import Reason, ReleasedWord, Segmenter
from turia.segmenter.punctuation import PunctuationSegmenter

TEXT = ["ka", "le.", "mi", "no", "pu.", "ra", "so", "ti.", "va"]


def lengths(released: list[ReleasedWord], open_words: int) -> tuple[list[int], int]:
    """Of the sentences that ended, and the words behind them."""
    found = []
    for word in released:
        open_words += word.word is not None
        if word.ends_sentence:
            found.append(open_words)
            open_words = 0
    return found, open_words


@pytest.mark.parametrize("window", [0, 1, 2])
@pytest.mark.parametrize("pauses", [set(), {3}, {1, 3, 4}])
def test_a_follower_ends_sentences_where_its_leader_does(window: int, pauses: set[int]) -> None:
    leader: Segmenter = PunctuationSegmenter("de", window)
    follower = AnnouncedSegmenter(window)
    led: list[ReleasedWord] = []
    followed: list[ReleasedWord] = []
    open_words = 0
    for number, word in enumerate(TEXT):
        heard = leader.push(word)
        ends, open_words = lengths(heard, open_words)
        follower.announce(ends)
        followed += follower.push(word)
        if number in pauses:
            stopped = leader.push_pause()
            ends, open_words = lengths(stopped, open_words)
            heard += stopped
            follower.announce(ends)
            followed += follower.push_pause() if follower.owes_end else []
        led += heard
        assert not follower.owes_end
        # A word comes out at the same time, and its sentence ends with it.
        assert [(item.word, item.ends_sentence) for item in followed] == [
            (item.word, item.ends_sentence) for item in led
        ]
    ends, _ = lengths(leader.flush(), open_words)
    follower.announce(ends)
    assert lengths(follower.flush(), open_words)[0] == ends


def test_an_end_that_comes_late_closes_what_came_out() -> None:
    segmenter = AnnouncedSegmenter(1)
    assert segmenter.push("ka") + segmenter.push("le") == [ReleasedWord("ka")]
    segmenter.announce([1])
    assert segmenter.push("mi") == [ReleasedWord(None, Reason.GIVEN), ReleasedWord("le")]


def test_where_words_are_missing_sentences_begin_anew() -> None:
    segmenter = AnnouncedSegmenter(0)
    segmenter.push("ka")
    segmenter.announce([5])
    assert segmenter.owes_end
    assert segmenter.push_pause() == [ReleasedWord(None, Reason.PAUSE)]
    segmenter.announce([2])
    assert segmenter.push("le") == [ReleasedWord("le")]
    assert segmenter.push("mi") == [ReleasedWord("mi", Reason.GIVEN)]


def test_a_state_is_restored() -> None:
    segmenter = AnnouncedSegmenter(2)
    for word in ("ka", "le", "mi"):
        segmenter.push(word)
    segmenter.announce([2])
    again = AnnouncedSegmenter(2)
    again.restore(segmenter.state())
    assert again.push("no") == [ReleasedWord("le", Reason.GIVEN)]
    assert again.pending == ("mi", "no")
    with pytest.raises(InputError, match="ends is"):
        AnnouncedSegmenter(2).restore(segmenter.state() | {"ends": ["x"]})


def test_another_window_holds_when_no_word_waits() -> None:
    segmenter = AnnouncedSegmenter(0)
    segmenter.look_ahead(1)
    assert segmenter.push("ka") == []
    segmenter.look_ahead(0)
    assert segmenter.window == 1
