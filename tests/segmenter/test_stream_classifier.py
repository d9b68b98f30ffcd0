"""The network that reads the stream once, online: the same numbers as torch, no surprises in files and states."""

from __future__ import annotations

import base64
import copy as copying
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixtures.tiny_segmenter import WORDS
from turia.config import SegmenterModel
from turia.errors import InputError, ModelError
from turia.segmenter.classifier import Classifier, SegmenterSettings
from turia.segmenter.online import Decision, Reason, ReleasedWord, Segmenter
from turia.segmenter.stream_classifier import StreamClassifier, StreamSegmenter, load_classifier
from turia.text.vocabulary import BOUNDARY, Vocabulary
from turia.training.segmenter.by_stream import StreamTagger, exported

words = st.sampled_from((*WORDS, "zzz", "–", "A!"))
streams = st.lists(words, max_size=40)
windows = st.integers(0, 3)
with_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
LONGEST = 3


@pytest.fixture(scope="module")
def tagger() -> StreamTagger:
    """Weights by chance, the embedding as it is stored."""
    torch.manual_seed(7)
    model = SegmenterModel("stream", windows=(LONGEST,), embedding=12, hidden=8, feed_forward=6)
    network = StreamTagger(model, 3 + len(WORDS)).eval()
    stored = exported(network)._weights
    with torch.no_grad():
        network.embedding.weight.copy_(torch.from_numpy(stored["embedding"] * stored["scale"][:, None]))
        for name, weight in network.outputs.named_parameters():
            if name.endswith("2.weight"):
                weight.mul_(5.0)
    return network


@pytest.fixture(scope="module")
def folder(tagger: StreamTagger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("segmenter")
    vocabulary = Vocabulary.learn(dict.fromkeys(WORDS, 1), len(WORDS))
    vocabulary.save(made / "segmenter-vocabulary.txt")
    network = exported(tagger)
    network.save(made / "segmenter.weights")
    ids = torch.from_numpy(np.random.default_rng(1).integers(3, len(vocabulary), 500))
    decisions = {}
    for w, probabilities in enumerate(tagger.probabilities(ids)):
        low, high = np.quantile(probabilities, [0.5, 0.75]).tolist()
        decisions[w] = Decision(high, (0.0, low))
    SegmenterSettings("de", len(vocabulary), decisions, network.shape).save(made)
    return made


@pytest.fixture(scope="module")
def classifiers(folder: Path) -> dict[int, StreamClassifier]:
    return {w: StreamClassifier(folder, w) for w in range(LONGEST + 1)}


def run(segmenter: Segmenter, stream: list[str]) -> list[ReleasedWord]:
    return [item for word in stream for item in segmenter.push(word)] + segmenter.flush()


class Recording(StreamClassifier):
    """Remembers what it answered."""

    def __init__(self, folder: Path, window: int) -> None:
        super().__init__(folder, window)
        self.answers: list[float] = []

    def probability(self, states):  # type: ignore[no-untyped-def]
        self.answers.append(super().probability(states))
        return self.answers[-1]


@pytest.mark.parametrize("w", range(LONGEST + 1))
def test_online_it_gives_the_numbers_of_torch(folder: Path, tagger: StreamTagger, w: int) -> None:
    classifier = Recording(folder, w)
    stream = [WORDS[number] for number in np.random.default_rng(2).integers(0, len(WORDS), 50)]
    segmenter = classifier.segmenter(max_words=None)
    for word in stream:
        segmenter.push(word)
    ids = torch.tensor([BOUNDARY, *map(classifier.vocabulary.id, stream)])
    assert len(classifier.answers) == 50 - w
    np.testing.assert_allclose(classifier.answers, tagger.probabilities(ids)[w], atol=1e-6)
    assert np.std(classifier.answers) > 0.01


@with_files
@given(streams, windows)
def test_words_come_out_once_each_and_lag_w(
    classifiers: dict[int, StreamClassifier], stream: list[str], w: int
) -> None:
    segmenter = classifiers[w].segmenter(max_words=9)
    for pushed, word in enumerate(stream, start=1):
        assert [item.word for item in segmenter.push(word)] == stream[max(0, pushed - w - 1) : max(0, pushed - w)]
    rest = [item.word for item in segmenter.flush() if item.word is not None]
    assert rest == stream[max(0, len(stream) - w) :]


@with_files
@given(streams, windows, st.integers(0, 40))
def test_a_restored_state_goes_on_identically(
    classifiers: dict[int, StreamClassifier], stream: list[str], w: int, cut: int
) -> None:
    whole, first, second = (classifiers[w].segmenter(max_words=9) for _ in range(3))
    begun = [item for word in stream[:cut] for item in first.push(word)]
    second.restore(json.loads(json.dumps(first.state())))
    assert second.state() == first.state()
    assert begun + run(second, stream[cut:]) == run(whole, stream)


@with_files
@given(streams, streams, windows)
def test_after_a_pause_all_is_as_at_the_beginning(
    classifiers: dict[int, StreamClassifier], before: list[str], stream: list[str], w: int
) -> None:
    new, paused = (classifiers[w].segmenter(max_words=9) for _ in range(2))
    for word in before:
        paused.push(word)
    paused.push_pause()
    assert run(paused, stream) == run(new, stream)


def test_both_answers_occur(classifiers: dict[int, StreamClassifier]) -> None:
    """The properties above would hold for a segmenter that never splits; this one does, and does not."""
    visible = run(classifiers[2].segmenter(max_words=None), list(WORDS) * 5)
    reasons = {item.reason for item in visible[:-1]}
    assert reasons == {None, Reason.SEGMENTER}


def test_words_that_say_nothing_are_not_read(folder: Path) -> None:
    """The output for fewer words answers; its threshold stands for the threshold of the window."""
    classifier = Recording(folder, 2)
    segmenter = classifier.segmenter(max_words=None)
    for word in ("a", "–", "b", "–", "c"):
        segmenter.push(word)
    network, vocabulary = classifier.network, classifier.vocabulary
    after_a = network.read(network.start, vocabulary.id("a"))
    after_b = network.read(after_a, vocabulary.id("b"))
    after_c = network.read(after_b, vocabulary.id("c"))
    scale = classifier.settings.decisions[2].threshold / classifier.settings.decisions[1].threshold
    expected = [network.probability([after_a, after_b]) * scale, network.probability([after_b, after_c]) * scale]
    assert classifier.answers == pytest.approx([min(1.0, value) for value in expected])


HUGE = base64.b64encode(np.full(8, 1e30, dtype="<f4").tobytes()).decode()


@pytest.mark.parametrize("before", [None, 7, "", "no base64!", "AAAA", "////" * 10 + "//8=", HUGE])
def test_a_damaged_state_is_refused(classifiers: dict[int, StreamClassifier], before: object) -> None:
    segmenter = classifiers[2].segmenter()
    with pytest.raises(InputError, match="segmenter state is damaged: before is"):
        segmenter.restore(segmenter.state() | {"before": before})


@with_files
@given(streams, streams, windows)
def test_a_state_of_another_network_begins_anew(
    classifiers: dict[int, StreamClassifier], exported: Path, before: list[str], stream: list[str], w: int
) -> None:
    """An updated model may have another segmenter; the words that wait, and the length of the sentence, stay."""
    of_window = Classifier(exported, w).segmenter(max_words=9)
    of_stream = classifiers[w].segmenter(max_words=9)
    for word in before:
        of_window.push(word)
        of_stream.push(word)
    other_training = of_stream.state() | {"network": "00000000", "before": "AAAA"}
    for state in (of_window.state(), other_training):
        anew = classifiers[w].segmenter(max_words=9)
        anew.restore(json.loads(json.dumps(state)))
        assert anew.pending == of_window.pending
        assert anew.state()["open_words"] == state["open_words"]
        assert anew.state()["before"] == classifiers[w].segmenter().state()["before"]
        assert [item.word for item in run(anew, stream) if item.word] == [*of_window.pending, *stream]
    back = Classifier(exported, w).segmenter(max_words=9)
    back.restore(json.loads(json.dumps(of_stream.state())))
    assert back.pending == of_stream.pending
    assert back.state()["past"] == Classifier(exported, w).segmenter().state()["past"]


@with_files
@given(streams, streams, windows)
def test_a_copy_shares_the_network_and_nothing_else(
    classifiers: dict[int, StreamClassifier], stream: list[str], other: list[str], w: int
) -> None:
    """A stream is copied to try a tail that may still change."""
    original, whole = (classifiers[w].segmenter(max_words=9) for _ in range(2))
    begun = [item for word in stream for item in original.push(word)]
    copied = copying.deepcopy(original)
    assert isinstance(copied, StreamSegmenter)
    assert copied.classifier is classifiers[w]
    run(copied, other)
    assert begun + run(original, stream) == run(whole, stream * 2)


def test_the_state_does_not_grow(classifiers: dict[int, StreamClassifier]) -> None:
    segmenter = classifiers[3].segmenter()
    sizes = set()
    for number in range(300):
        segmenter.push(WORDS[number % len(WORDS)])
        assert len(segmenter._states) <= 3  # type: ignore[attr-defined]
        sizes.add(len(json.dumps(segmenter.state())) // 100)
    assert sizes <= {1, 2}


def test_either_kind_of_network_is_loaded_by_what_its_folder_says(folder: Path, exported: Path) -> None:
    assert type(load_classifier(folder, 2).segmenter()) is StreamSegmenter
    assert type(load_classifier(exported, 2).segmenter()).__name__ == "ClassifierSegmenter"
    with pytest.raises(ModelError, match="not of a network that reads the stream once"):
        StreamClassifier(exported, 2)


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def test_a_window_that_was_not_exported_is_refused(folder: Path) -> None:
    with pytest.raises(ModelError, match="no segmenter of 4 future words; there are 0, 1, 2, 3"):
        load_classifier(folder, 4)


@pytest.mark.parametrize("name", ["segmenter.json", "segmenter-vocabulary.txt", "segmenter.weights"])
def test_a_missing_or_damaged_file_is_named(copy: Path, name: str) -> None:
    (copy / name).write_bytes(b"\xff\x00 nothing")
    with pytest.raises(ModelError, match=str(copy)):
        load_classifier(copy, 2)
    (copy / name).unlink()
    with pytest.raises(ModelError, match=str(copy)):
        load_classifier(copy, 2)


def test_weights_that_are_no_numbers_are_refused(copy: Path) -> None:
    path = copy / "segmenter.weights"
    for value in (np.nan, np.inf, 1e30, -1e30):
        path.write_bytes(path.read_bytes()[:-4] + np.array(value, dtype="<f4").tobytes())
        with pytest.raises(ModelError, match="has values that are no numbers, or far too large"):
            load_classifier(copy, 2)


def test_weights_that_are_too_long_are_not_read(copy: Path) -> None:
    path = copy / "segmenter.weights"
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="cannot be read: not a plain file"):
        load_classifier(copy, 2)
    path.unlink()
    with path.open("wb") as file:
        file.truncate(10**13)
    with pytest.raises(ModelError, match="cannot be read: 10000000000000 bytes, expected at most"):
        load_classifier(copy, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "version 3, this Turia reads versions 1 and 2"),
        ({"stream": {"embedding": 12}}, "ill-typed"),
        ({"stream": {"embedding": 12, "hidden": 0, "feed_forward": 6, "longest": 3}}, "hidden is 0, expected"),
        ({"stream": {"embedding": 12, "hidden": 8.0, "feed_forward": 6, "longest": 3}}, r"hidden is 8\.0, expected"),
        ({"stream": {"embedding": 12, "hidden": 9, "feed_forward": 6, "longest": 3}}, "bytes, expected"),
        ({"stream": {"embedding": 12, "hidden": 8, "feed_forward": 6, "longest": 2}}, "expected all from 0 to 2"),
        ({"windows": {"2": {"threshold": 0.5, "falling": [0.3]}}}, "must begin with 0"),
    ],
)
def test_settings_are_checked(copy: Path, change: dict[str, object], message: str) -> None:
    data = json.loads((copy / "segmenter.json").read_text())
    (copy / "segmenter.json").write_text(json.dumps(data | change))
    with pytest.raises(ModelError, match=message):
        load_classifier(copy, 2)
