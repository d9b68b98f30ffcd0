"""Who speaks, by the words of a feed."""

from __future__ import annotations

from turia.stream.times import SpokenWord
from turia.stream.trace import End, Note
from turia.stream.turns import Turns, named_speaker, speaker_note


def test_a_turn_begins_with_another_name_and_a_word_without_one_goes_on() -> None:
    turns = Turns()
    names = [None, "Anna", "Anna", None, "Bo", None, "Anna"]
    assert [turns.before(SpokenWord("ja", speaker=name)) for name in names] == [
        None, "Anna", None, None, "Bo", None, "Anna"
    ]  # fmt: skip


def test_a_note_says_who_speaks() -> None:
    assert named_speaker(speaker_note("Anna", 3)) == "Anna"
    assert speaker_note("Anna", 3) == Note("speaker", 3, "Anna")
    assert named_speaker(Note("loop", 3, "Anna")) is None
    assert named_speaker(End(1, 1)) is None
