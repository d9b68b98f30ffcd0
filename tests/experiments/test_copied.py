"""What counts as a number or a name that came through: benchmarks/copied.py."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.copied import Sentence, name_share, names, number_share, numbers, summary


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.250 Euro, 1,250 euros or 1 250", {"1250": 3}),
        ("Am 17. März um 14:30 Uhr.", {"17": 1, "1430": 1}),
        ("up by 12.5% in 2023, to 7", {"125": 1, "2023": 1, "7": 1}),
        ("in 2010, 26 of 50", {"2010": 1, "26": 1, "50": 1}),
        ("none at all", {}),
    ],
)
def test_a_number_is_its_digits(text: str, expected: dict[str, int]) -> None:
    assert numbers(text) == Counter(expected)


def test_a_name_has_a_capital_inside_an_english_sentence_and_is_spelt_alike() -> None:
    english = 'Mr Barroso met Mrs Malmström. Europe said: "Yes", and Barroso agreed in the Union.'
    german = "Herr Barroso traf Frau Malmström. Europa sagte Ja, und Barroso stimmte in der EU zu. Union"
    assert names(english, german) == Counter({"barroso": 2, "malmström": 1, "union": 1})
    # What begins a sentence, or a quotation, may have its capital from there.
    assert names("Barroso came. “Hans” too.", "Barroso kam. Hans auch.") == Counter()


def test_what_only_one_side_has_is_not_wanted() -> None:
    sentence = Sentence("im jahr 1969 waren es 3", "In 1969 there were three.", "In 1996 there were 3.")
    assert number_share(sentence) == (Counter({"1969": 1}), Counter())
    assert number_share(sentence).lost == ["1969"]


@pytest.mark.parametrize("from_english", [True, False])
def test_names_are_looked_for_in_the_output(from_english: bool) -> None:
    english, german = "So Anna and Peter met Anna.", "Also trafen Anna und Peter Anna."
    source, reference = (english, german) if from_english else (german, english)
    share = name_share(Sentence(source, reference, "xx anna xx Petra"), from_english)
    assert share.wanted == Counter({"anna": 2, "peter": 1})
    assert sorted(share.lost) == ["anna", "peter"]
    assert summary([share, share]) == "2/6 = 33.3%"


def test_nothing_wanted_has_no_share() -> None:
    assert summary([number_share(Sentence("a", "b", "c"))]) == "0/0"
