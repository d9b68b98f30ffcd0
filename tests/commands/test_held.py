"""What an operator changes reaches what a relay still holds, word by word, and nothing that has gone out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turia.commands.held import HeldEvents


def word(text: str, sentence: int, ms: float) -> dict[str, Any]:
    return {"type": "write", "word": text, "sentence": sentence, "ms": ms}


def end_of(sentence: int, ms: float) -> dict[str, Any]:
    return {"type": "sentence", "sentence": sentence, "ms": ms}


def correct(sentence: int, words: int, text: str, ms: float) -> dict[str, Any]:
    return {"type": "correction", "sentence": sentence, "words": words, "text": text, "ms": ms}


def insert(before: int, text: str, ms: float, number: int = 0) -> dict[str, Any]:
    return {"type": "insertion", "number": number, "before": before, "text": text, "ms": ms}


END = {"type": "end", "ms": 100_000.0}
LINE = [word(text, 0, 1000.0 * place) for place, text in enumerate(["the", "bored", "has", "met"])]
NEXT = [word("next", 1, 6000.0), end_of(1, 6000.0)]


def shown(events: list[dict[str, Any]], hold_ms: float = 10_000.0) -> tuple[list[str], HeldEvents]:
    """Words with their seconds, and lines that end or were put in."""
    found: list[str] = []

    def note(event: dict[str, Any]) -> None:
        seconds = f"{event['ms'] / 1000:g}"
        match event["type"]:
            case "write":
                found.append(f"{event['word']} {seconds}")
            case "sentence":
                found.append("/")
            case "insertion":
                found.append(f"[{event['text']}] {seconds}")

    held = HeldEvents(hold_ms, note)
    for event in events:
        held.take(event)
    return found, held


def test_words_are_passed_on_when_they_were_held_for_long_enough() -> None:
    found, held = shown([*LINE, end_of(0, 3000.0)])
    assert found == []
    held.release(11_000.0)
    assert found == ["the 0", "bored 1"]
    held.release(13_000.0)
    assert found == ["the 0", "bored 1", "has 2", "met 3", "/"]


def test_a_held_line_is_corrected_and_its_words_keep_their_times() -> None:
    events = [*LINE, end_of(0, 3000.0), correct(0, 4, "The Board met.", 5000.0), *NEXT, END]
    assert shown(events)[0] == ["The 0", "Board 1", "met. 2", "/", "next 6", "/"]
    longer = correct(0, 4, "The Board of the bank has met", 5000.0)
    assert shown([*LINE, end_of(0, 3000.0), longer, END])[0] == [
        *("The 0", "Board 0", "of 1", "the 1", "bank 2", "has 2", "met 3", "/"),
    ]
    assert shown([*LINE, end_of(0, 3000.0), correct(0, 4, "", 5000.0), *NEXT, END])[0] == ["/", "next 6", "/"]
    # The newest holds; 0 words and no text is the line as it was. Words behind those corrected stay.
    events = [*LINE[:2], correct(0, 2, "x", 1500.0), correct(0, 0, "", 1600.0), *LINE[2:], END]
    assert shown(events)[0] == ["the 0", "bored 1", "has 2", "met 3"]
    assert shown([*LINE[:2], correct(0, 2, "The Board", 1500.0), *LINE[2:], END])[0][:3] == [
        "The 0",
        "Board 1",
        "has 2",
    ]


def test_of_a_line_that_has_begun_to_go_out_the_rest_is_corrected() -> None:
    events = [*LINE, end_of(0, 3000.0), correct(0, 4, "The Board has really met", 3100.0), END]
    found, held = shown(events, hold_ms=2500.0)
    # "the" has gone out; the rest of the text stands for the rest of the words.
    assert found == ["the 0", "Board 1", "has 1", "really 2", "met 3", "/"]
    assert held.late == 1
    found, held = shown(events, hold_ms=0.0)
    assert found == ["the 0", "bored 1", "has 2", "met 3", "/"]
    assert held.late == 1
    assert shown(events)[1].late == 0


def test_a_line_that_was_put_in_stands_before_its_sentence_or_between_two() -> None:
    before = [*LINE, end_of(0, 3000.0), insert(0, "Anna:", 4000.0), END]
    assert shown(before)[0] == ["[Anna:] 0", "the 0", "bored 1", "has 2", "met 3", "/"]
    # Nothing is held: it comes when the sentence that is being spoken is over.
    spoken = [*LINE[:2], insert(0, "[Applause]", 1500.0), *LINE[2:], end_of(0, 3000.0), *NEXT]
    assert shown(spoken, 0.0)[0] == [
        *("the 0", "bored 1", "has 2", "met 3", "/", "[[Applause]] 1.5", "next 6", "/"),
    ]
    found, held = shown([end_of(0, 3000.0), insert(1, "[Pause]", 4000.0)])
    held.release(13_999.0)
    assert found == ["/"]
    held.release(14_000.0)
    assert found == ["/", "[[Pause]] 4"]
    # It can be changed and taken away while it is held, and not afterwards.
    held.take(insert(1, "", 14_100.0))
    assert held.late == 1
    assert shown([insert(0, "a", 1.0), insert(0, "b", 2.0), insert(0, "c", 3.0, 1), insert(0, "", 4.0, 1), END])[0] == [
        "[b] 100"
    ]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.lists(st.sampled_from("abcd"), max_size=8))
def test_a_whole_line_that_is_held_becomes_its_correction(said: list[str], text: list[str]) -> None:
    events = [word(one, 0, float(place)) for place, one in enumerate(said)]
    found, _ = shown([*events, end_of(0, 9.0), correct(0, len(said), " ".join(text), 10.0), END])
    assert [one.split()[0] for one in found] == [*text, "/"]
