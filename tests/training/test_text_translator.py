"""A text becomes sentences as in training, and translations that are no good are told apart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.training.test_resume import quick
from turia.corpus.monolingual import Text
from turia.model.sentences import Draw
from turia.training.loop import train
from turia.training.text_translator import Line, TextTranslator, find_fault

GREEDY = Draw()


@pytest.mark.parametrize(
    ("source", "target", "fault"),
    [
        ("a b c", "", "empty"),
        ("a b c", "x y", None),
        ("a", "x y z u v w", None),
        ("a", "x y z u v w q", "ratio"),
        ("a b c d e f g h", "x y z", "ratio"),
        ("a b c d e f g", "x y z", None),
        ("a b c d e f", "x so so so y z", None),
        ("a b c d e f", "x so So so so y z", "loop"),
        ("very very very very good", "sehr sehr sehr sehr gut", None),
        ("a b c d e f g h", "x in der in der in der y", "loop"),
        ("a b c d e f g h", "x in der in der y in der", None),
        ("a b c d e f g h i j k l m", "p q r s t u p q r s t u p q r s t u", "loop"),
    ],
)
def test_faults_of_translations(source: str, target: str, fault: str | None) -> None:
    assert find_fault(source.split(), target.split()) == fault


def test_a_model_reads_sentences_as_in_training(tmp_path: Path, model: Path) -> None:
    translator = TextTranslator(model)
    assert translator.languages == ("xx", "yy")
    dropped: Counter[str] = Counter()
    texts = [Text("a", "Leta, Miso? -- ! No (Laughter) kata"), Text("b", "-- (Music) ..."), Text("c", "Ka")]
    lines = list(translator.lines(texts, dropped))
    assert lines == [
        Line("a", "Leta, Miso?", ["leta", "miso"], True, False),
        Line("a", "No kata", ["no", "kata"], False, True),
        Line("c", "Ka", ["ka"], True, True),
    ]
    assert dropped == {"no_words": 1}
    window = translator._window(lines[0])
    assert window.words.tolist() == [2]
    long = [Line("a", "x", ["ka"] * words, True, True) for words in (101, 90, 5)]
    found = translator.translate(long, GREEDY, 1, dropped)
    assert found[0] == []
    assert dropped["long"] == 1
    fine = translator.translate(long[1:], GREEDY, 1, Counter())
    assert found[1:] == fine


def test_a_run_folder_translates_as_well(tmp_path: Path) -> None:
    recipe = quick(tmp_path, steps=1)
    train(recipe, lambda _: None)
    translator = TextTranslator(recipe.run)
    assert translator.languages == (recipe.source_language, recipe.target_language)
    dropped: Counter[str] = Counter()
    lines = list(translator.lines([Text("a", "Guri bado. Keri")], dropped))
    found = translator.translate(lines, GREEDY, 1, dropped)
    # Untrained, it may never end: all that it fails at is counted.
    assert len(found) == sum(map(bool, found)) + dropped.total() == 2
