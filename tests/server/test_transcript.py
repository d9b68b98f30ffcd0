"""Files of a session: by the session's clock, or by the speaker's, wherever that counts from."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.formats.cues import parse
from turia.protocol.events import EVENTS, Event, SourceWord
from turia.schema import JsonObject
from turia.server.stores.base import StoreError
from turia.server.transcript import Clock, transcript
from turia.stream.trace import Note, SentenceEnd, Write

RECORDED = Path(__file__).parents[1] / "recorded" / "release-0.1" / "events.jsonl"


def events(*ats: float | None) -> list[JsonObject]:
    """A sentence a word: each comes a second after the one before, and is written 100 ms later."""
    made: list[Event] = []
    for index, at in enumerate(ats):
        ms = 5000.0 + 1000 * index
        made += [
            SourceWord("ja", index, ms, at),
            Write("yes", index, 1, index, "policy", ms + 100, at=at),
            SentenceEnd(index, 1, 1, "segmenter", ms=ms + 100),
        ]
    return [EVENTS.to_json(event) for event in made]


def test_events_are_not_gathered_in_memory() -> None:
    """Each is dropped when the next is asked for."""

    class Stored(JsonObject):
        pass

    alive: list[weakref.ref[Stored]] = []

    def one_by_one() -> Iterator[JsonObject]:
        for event in events(*[float(index) for index in range(50)]):
            assert sum(ref() is not None for ref in alive) <= 2
            stored = Stored(event)
            alive.append(weakref.ref(stored))
            yield stored
            del stored

    assert transcript(one_by_one(), "txt", "target", "speaker").split() == ["yes"] * 50


@pytest.mark.parametrize(
    ("ats", "clock", "starts"),
    [
        ([20_000.0, 24_000.0], "server", [5100, 6100]),
        ([20_000.0, 24_000.0], "speaker", [20_000, 24_000]),
        # From 1970, and from when a machine was switched on: the first word is where the session's clock has it.
        ([1_763_000_000_000.0, 1_763_000_004_000.0], "speaker", [5000, 9000]),
        ([4 * 86_400_000.0, 4 * 86_400_000.0 + 4000], "speaker", [5000, 9000]),
        ([None, 1_763_000_000_000.0], "speaker", [5100, 6100]),
        ([-70_000.0, 2000.0], "speaker", [0, 2000]),
    ],
)
def test_cues_lie_where_the_clock_has_them(ats: list[float | None], clock: Clock, starts: list[int]) -> None:
    found = [cue.start for cue in parse(transcript(events(*ats), "srt", "target", clock))]
    # A cue is up for a second at least before the next.
    assert found == [starts[0], max(starts[1], starts[0] + 1000)]


def test_a_line_of_the_source_ends_where_its_sentence_does() -> None:
    """Which is found some words later."""

    said: list[Event] = [
        SourceWord(word, index, 1000.0 * index)
        for index, word in enumerate(["Guten", "Tag.", "Wir", "reden", "heute.", "Danke", "sehr.", "Und"])
    ]
    ends = [SentenceEnd(number, words, 1, "segmenter") for number, words in enumerate((2, 3, 2))]
    made = [EVENTS.to_json(event) for event in (*said[:4], ends[0], *said[4:7], ends[1], *said[7:], ends[2])]
    assert transcript(made, "txt", "source") == "Guten Tag.\nWir reden heute.\nDanke sehr.\nUnd\n"
    assert [cue.start for cue in parse(transcript(made, "srt", "source"))] == [0, 2000, 5000, 7000]


def test_a_session_of_release_0_1_has_its_transcript() -> None:
    stored = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    long, cut = "x" * 201, "x" * 39 + "a"
    assert transcript(stored, "txt", "target") == f"ka le mi\nno pu {cut}\nka größe\n"
    assert transcript(stored, "txt", "source") == f"ka le mi.\nno pu {long}\nka größe\n"


def test_events_of_later_releases_are_passed_over_and_damaged_ones_are_not() -> None:
    made = [{"type": "applause"}, *(event | {"later": 1} for event in events(None)), {"type": 7}]
    assert transcript(made, "txt", "target") == "yes\n"
    with pytest.raises(StoreError, match="damaged") as caught:
        transcript([{"type": "source", "word": 7, "index": 0}], "txt", "source")
    assert "7" not in str(caught.value)


def test_speakers_are_named_on_both_sides() -> None:
    first, second = events(None, None)[:3], events(None, None)[3:]
    named = [EVENTS.to_json(Note("speaker", index, name)) for index, name in enumerate(["Anna", "Bo"])]
    spoken = [named[0], *first, named[1], *second]
    assert transcript(spoken, "txt", "target") == "Anna: yes\nBo: yes\n"
    assert transcript(spoken, "txt", "source") == "Anna: ja\nBo: ja\n"
    assert [line for line in transcript(spoken, "vtt", "source").splitlines() if "<v" in line] == [
        "<v Anna>ja",
        "<v Bo>ja",
    ]
    # Other notes are not for the audience.
    loop = EVENTS.to_json(Note("loop", 0, "ja ja ja"))
    assert transcript([loop, *first], "txt", "target") == "yes\n"


def test_a_recording_has_all_events_as_they_are() -> None:
    lines = transcript([*events(None), {"type": "later", "more": [1]}], "jsonl", "target").splitlines()
    assert json.loads(lines[0]) == {"type": "recording", "version": 1}
    assert [json.loads(line) for line in lines[1:]] == [*events(None), {"type": "later", "more": [1]}]
