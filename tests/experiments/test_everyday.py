"""The everyday sentences, their ratings and the page that shows them: benchmarks/everyday.py."""

from __future__ import annotations

import pytest

from benchmarks.everyday import DIRECTIONS, PAGE, means, page, rated, sentences
from turia.runtime.translator import find_model


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_sentence_has_a_translation_and_a_rating(direction: str) -> None:
    found = rated(direction)
    assert len(found) == len(sentences(direction)) == 60
    assert all(one.written and 0 <= one.rating <= 5 for one in found)
    assert len(means(found)) == 7  # six fields, and all


def test_a_direction_is_read_from_its_own_side() -> None:
    (field, said, meant), (_, english, german) = sentences("de-en")[0], sentences("en-de")[0]
    assert field == "home"
    assert (said, meant) == (german, english)
    assert said.startswith("Kannst du")


def test_the_mean_of_a_field_is_that_of_its_ten_sentences() -> None:
    found = rated("de-en")
    assert means(found)["doctor"] == sum(one.rating for one in found[10:20]) / 10
    assert means(found)["all"] == sum(one.rating for one in found) / 60


def test_the_page_is_what_the_ratings_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m benchmarks.everyday --page`"


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_card_has_the_same_means(direction: str) -> None:
    card = (find_model(direction) / "README.md").read_text(encoding="utf-8")
    cells = " | ".join(f"{mean:.1f}" for mean in means(rated(direction)).values())
    assert f"| {cells} |" in card
