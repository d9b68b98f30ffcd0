"""Files of a session: by the session's clock, or by the speaker's, wherever that counts from."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator

import pytest

from tests.interop.cues import parse
from turia.server.transcript import Clock, transcript


def events(*ats: float | None) -> list[str]:
    """A sentence a word: each comes a second after the one before, and is written 100 ms later."""
    made = []
    for index, at in enumerate(ats):
        said = {} if at is None else {"at": at}
        ms = 5000.0 + 1000 * index
        sentence = {"type": "sentence", "sentence": index, "source_words": 1, "target_words": 1, "reason": "segmenter"}
        made += [
            {"type": "source", "word": "ja", "index": index, "ms": ms} | said,
            {"type": "write", "word": "yes", "index": index, "read": 1, "sentence": index, "ms": ms + 100} | said,
            sentence | {"ms": ms + 100},
        ]
    return [json.dumps(event) for event in made]


def test_events_are_not_gathered_in_memory() -> None:
    """Each is dropped when the next is asked for."""

    class Text(str):
        pass

    alive: list[weakref.ref[Text]] = []

    def one_by_one() -> Iterator[str]:
        for event in events(*[float(index) for index in range(50)]):
            assert sum(ref() is not None for ref in alive) <= 2
            text = Text(event)
            alive.append(weakref.ref(text))
            yield text
            del text

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

    def sentence(number: int, words: int) -> dict[str, object]:
        return {"type": "sentence", "sentence": number, "source_words": words, "target_words": 1, "reason": "segmenter"}

    said = [
        {"type": "source", "word": word, "index": index, "ms": 1000.0 * index}
        for index, word in enumerate(["Guten", "Tag.", "Wir", "reden", "heute.", "Danke", "sehr.", "Und"])
    ]
    made = [*said[:4], sentence(0, 2), *said[4:7], sentence(1, 3), *said[7:], sentence(2, 2)]
    text = transcript(map(json.dumps, made), "txt", "source")
    assert text == "Guten Tag.\nWir reden heute.\nDanke sehr.\nUnd\n"
    assert [cue.start for cue in parse(transcript(map(json.dumps, made), "srt", "source"))] == [0, 2000, 5000, 7000]
