"""The lines of a transcript as an operator has left them."""

from __future__ import annotations

from turia.protocol.corrections import Correction, Insertion
from turia.server.corrected import Shown, ShownWord, corrected
from turia.server.transcript import transcript
from turia.stream.trace import Note, SentenceEnd


def line(sentence: int, *words: str, end: bool = True) -> list[Shown]:
    """A sentence, a word a second."""
    shown: list[Shown] = [
        ShownWord(word, 1000.0 * (10 * sentence + place), sentence) for place, word in enumerate(words)
    ]
    return [*shown, SentenceEnd(sentence, len(words), len(words), "punctuation")] if end else shown


SPEECH = [*line(0, "the", "committee", "meets."), *line(1, "we", "vote."), *line(2, "it", "goes", end=False)]


def texts(*changes: Correction | Insertion) -> list[str]:
    lines: list[list[str]] = [[]]
    for item in corrected([*SPEECH, *changes]):
        if isinstance(item, ShownWord):
            lines[-1].append(item.word)
        else:
            lines.append([])
    return [" ".join(words) for words in lines if words]


def test_without_corrections_nothing_changes() -> None:
    assert list(corrected(SPEECH)) == SPEECH
    assert texts() == ["the committee meets.", "we vote.", "it goes"]


def test_a_line_is_corrected_hidden_and_shown_again() -> None:
    right = Correction(0, 3, "The Board meets.", 1.0)
    assert texts(right) == ["The Board meets.", "we vote.", "it goes"]
    assert texts(right, Correction(0, 3, "", 2.0)) == ["we vote.", "it goes"]
    assert texts(right, Correction(0, 0, "", 3.0)) == texts()
    # Words that came after the correction stand behind it.
    assert texts(Correction(2, 1, "The vote", 1.0)) == ["the committee meets.", "we vote.", "The vote goes"]
    assert texts(Correction(7, 1, "of nothing", 1.0)) == texts()


def test_lines_are_put_in_changed_and_taken_away() -> None:
    first, last = Insertion(0, 0, "Good morning.", 1.0), Insertion(1, 9, "[Applause]", 1.0)
    assert texts(first, last) == ["Good morning.", "the committee meets.", "we vote.", "it goes", "[Applause]"]
    assert texts(first, Insertion(0, 2, "Later.", 2.0)) == ["the committee meets.", "we vote.", "Later.", "it goes"]
    assert texts(first, Insertion(0, 0, "", 2.0)) == texts()


def test_lines_that_are_put_in_come_in_the_order_of_sentences_then_of_their_numbers() -> None:
    given = [Insertion(number, before, f"{before}-{number}", 1.0) for number, before in enumerate([2, 0, 9, 2, 0, 1])]
    expected = ["0-1", "0-4", "the committee meets.", "1-5", "we vote.", "2-0", "2-3", "it goes", "9-2"]
    assert texts(*given) == texts(*reversed(given)) == expected


def test_corrected_words_have_the_times_of_those_that_they_stand_for() -> None:
    items = list(corrected([*SPEECH, Correction(0, 3, "a b c d e f", 9.0), Insertion(0, 1, "x y", 9.0)]))
    words = [(item.word, item.ms) for item in items if isinstance(item, ShownWord)]
    assert words[:6] == [("a", 0), ("b", 0), ("c", 1000), ("d", 1000), ("e", 2000), ("f", 2000)]
    assert words[6:9] == [("x", 10_000), ("y", 10_000), ("we", 10_000)]


def test_what_was_put_in_is_nobodys() -> None:
    speaker = Note("speaker", 1, "Anna")
    found = list(corrected([*SPEECH[:4], speaker, *SPEECH[4:], Insertion(0, 1, "[Break]", 1.0)]))
    assert found.index(speaker) > [getattr(item, "word", "") for item in found].index("[Break]")


def test_files_show_corrections_and_recordings_keep_both() -> None:
    events = [
        {"type": "write", "word": "the", "index": 0, "read": 1, "sentence": 0, "reason": "policy", "ms": 10.0},
        {"type": "write", "word": "rat.", "index": 1, "read": 2, "sentence": 0, "reason": "policy", "ms": 20.0},
        {"type": "sentence", "sentence": 0, "source_words": 2, "target_words": 2, "reason": "end", "ms": 20.0},
        {"type": "correction", "sentence": 0, "words": 2, "text": "The Council.", "ms": 30.0},
        {"type": "insertion", "number": 0, "before": 1, "text": "[End]", "ms": 40.0},
    ]
    assert transcript(events, "txt", "target") == "The Council.\n[End]\n"
    assert "The Council." in transcript(events, "vtt", "target")
    assert "rat" not in transcript(events, "srt", "target")
    recording = transcript(events, "jsonl", "target")
    assert '"rat."' in recording
    assert '"The Council."' in recording
