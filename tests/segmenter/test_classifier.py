"""The exported classifier online: the same windows as in training, the same numbers as torch, no surprises in files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixtures.tiny_segmenter import WORDS
from turia.errors import ModelError
from turia.segmenter.classifier import Classifier, ClassifierSegmenter
from turia.segmenter.online import Decision, ReleasedWord
from turia.segmenter.window import PAST
from turia.text.vocabulary import BOUNDARY, UNHEARD

words = st.sampled_from((*WORDS, "zzz", "–", "A!"))
streams = st.lists(words, max_size=40)
windows = st.integers(0, 4)
with_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)


@pytest.fixture(scope="module")
def classifiers(exported: Path) -> dict[int, Classifier]:
    return {w: Classifier(exported, w) for w in range(5)}


def run(segmenter: ClassifierSegmenter, stream: list[str]) -> list[ReleasedWord]:
    return [item for word in stream for item in segmenter.push(word)] + segmenter.flush()


class Recording(Classifier):
    """Remembers what it was asked."""

    def __init__(self, folder: Path, window: int) -> None:
        super().__init__(folder, window)
        self.asked: list[list[int]] = []

    def probabilities(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        self.asked += ids.tolist()
        return super().probabilities(ids)


def test_the_network_does_not_see_silent_words(exported: Path) -> None:
    classifier = Recording(exported, 2)
    segmenter = ClassifierSegmenter(classifier, decision=Decision(2.0))
    run(segmenter, ["a", "–", "B!", "c"])
    a, b, c = map(classifier.vocabulary.id, "abc")
    # At the dash nothing is asked, nor at the last word, which ends the stream.
    assert [ids[PAST:] for ids in classifier.asked] == [[a, b, UNHEARD], [b, c, BOUNDARY]]
    assert [ids[PAST - 1] for ids in classifier.asked] == [BOUNDARY, a]


def test_the_past_has_one_boundary_after_each_sentence(exported: Path) -> None:
    """As in training; a sentence that said nothing leaves none."""
    classifier = Recording(exported, 0)
    segmenter = ClassifierSegmenter(classifier, decision=Decision(2.0))
    segmenter.push("a")
    segmenter.push_pause()
    segmenter.push("–")
    segmenter.push_pause()
    segmenter.push("b")
    a, b = map(classifier.vocabulary.id, "ab")
    assert classifier.asked[-1][PAST - 2 :] == [a, BOUNDARY, b]


@with_files
@given(streams, windows)
def test_words_come_out_once_each_and_lag_w(classifiers: dict[int, Classifier], stream: list[str], w: int) -> None:
    segmenter = ClassifierSegmenter(classifiers[w], max_words=9)
    for pushed, word in enumerate(stream, start=1):
        assert [item.word for item in segmenter.push(word)] == stream[max(0, pushed - w - 1) : max(0, pushed - w)]
    rest = [item.word for item in segmenter.flush() if item.word is not None]
    assert rest == stream[max(0, len(stream) - w) :]


@with_files
@given(streams, windows, st.integers(0, 40))
def test_a_restored_state_goes_on_identically(
    classifiers: dict[int, Classifier], stream: list[str], w: int, cut: int
) -> None:
    whole, first, second = (ClassifierSegmenter(classifiers[w], max_words=9) for _ in range(3))
    begun = [item for word in stream[:cut] for item in first.push(word)]
    second.restore(json.loads(json.dumps(first.state())))
    assert begun + run(second, stream[cut:]) == run(whole, stream)


@with_files
@given(streams)
def test_silent_words_do_not_change_what_was_said_before(classifiers: dict[int, Classifier], stream: list[str]) -> None:
    """Without future words a lone dash can change nothing: the past holds spoken words alone."""
    spoken = [word for word in stream if word != "–"]
    with_dashes = run(ClassifierSegmenter(classifiers[0], max_words=None), stream)
    without = run(ClassifierSegmenter(classifiers[0], max_words=None), spoken)
    ends = [item for item in with_dashes[: len(stream)] if item.word not in ("–", None)]
    assert ends[:-1] == [item for item in without if item.word is not None][:-1]


def test_both_answers_occur(classifiers: dict[int, Classifier]) -> None:
    """The properties above would hold for a segmenter that never splits; this one does, and does not."""
    visible = run(ClassifierSegmenter(classifiers[2], max_words=None), list(WORDS) * 5)
    assert 0 < sum(item.ends_sentence for item in visible) < len(visible)


@pytest.fixture
def copy(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "copy"))


def test_a_window_that_was_not_exported_is_refused(exported: Path) -> None:
    with pytest.raises(ModelError, match="no segmenter of 5 future words; there are 0, 1, 2, 3, 4"):
        Classifier(exported, 5)


def test_a_vocabulary_of_another_size_is_refused(copy: Path) -> None:
    path = copy / "segmenter-vocabulary.txt"
    path.write_text(path.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    with pytest.raises(ModelError, match="20 entries, expected 19"):
        Classifier(copy, 0)
    data = json.loads((copy / "segmenter.json").read_text())
    (copy / "segmenter.json").write_text(json.dumps(data | {"vocabulary": 20}))
    with pytest.raises(ModelError, match="made for a vocabulary of 19 entries, not 20"):
        Classifier(copy, 0)


def test_a_graph_of_another_window_is_refused(copy: Path) -> None:
    shutil.copy(copy / "segmenter-w1.onnx", copy / "segmenter-w0.onnx")
    with pytest.raises(ModelError, match="expected"):
        Classifier(copy, 0)


@pytest.mark.parametrize(
    "name", ["segmenter.json", "segmenter-vocabulary.txt", "segmenter-w2.onnx", "segmenter.weights"]
)
def test_a_missing_or_damaged_file_is_named(copy: Path, name: str) -> None:
    (copy / name).write_bytes(b"\xff\x00 nothing")
    with pytest.raises(ModelError):
        Classifier(copy, 2)
    (copy / name).unlink()
    with pytest.raises(ModelError, match=str(copy)):
        Classifier(copy, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "version 3, this Turia reads versions 1 and 2"),
        ({"version": 2}, "ill-typed: KeyError"),
        ({"past": 9}, "9 past words"),
        ({"windows": {"2": {"threshold": 0.5}}}, "falling"),
        ({"windows": {"2": {"threshold": 0.5, "falling": [0.3]}}}, "must begin with 0"),
        ({"windows": {"2": {"threshold": float("nan"), "falling": [0]}}}, "thresholds that are no probabilities"),
        ({"windows": {"2": {"threshold": 1e300, "falling": [0]}}}, "thresholds that are no probabilities"),
        ({"windows": {"2": {"threshold": 0.5, "falling": [0, -1]}}}, "thresholds that are no probabilities"),
        ({"windows": []}, "ill-typed"),
    ],
)
def test_settings_are_checked(copy: Path, change: dict[str, object], message: str) -> None:
    data = json.loads((copy / "segmenter.json").read_text())
    (copy / "segmenter.json").write_text(json.dumps(data | change))
    with pytest.raises(ModelError, match=message):
        Classifier(copy, 2)
