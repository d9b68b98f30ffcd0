"""Who speaks, by the words of a feed."""

from __future__ import annotations

from turia.stream.speakers import SpeakerChanges, named_speaker, speaker_note
from turia.stream.times import SpokenWord
from turia.stream.trace import End, Note


def test_a_speaker_changes_with_another_name_and_a_word_without_one_goes_on() -> None:
    speakers = SpeakerChanges()
    names = [None, "Anna", "Anna", None, "Bo", None, "Anna"]
    assert [speakers.before(SpokenWord("ja", speaker=name)) for name in names] == [
        None, "Anna", None, None, "Bo", None, "Anna"
    ]  # fmt: skip


def test_a_note_says_who_speaks() -> None:
    assert named_speaker(speaker_note("Anna", 3)) == "Anna"
    assert speaker_note("Anna", 3) == Note("speaker", 3, "Anna")
    assert named_speaker(Note("loop", 3, "Anna")) is None
    assert named_speaker(End(1, 1)) is None
