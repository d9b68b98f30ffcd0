"""Loading a model: what is refused, and which of a folder's files count."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from turia.commands.models import describe
from turia.config import SegmenterModel
from turia.errors import ConfigError, InputError, ModelError
from turia.export.random_model import made_up_words
from turia.runtime.folder import write_sums
from turia.runtime.translator import Segmentation, Translator, check_segmenter
from turia.segmenter.classifier import VOCABULARY_FILE, WEIGHTS_FILE, SegmenterSettings
from turia.segmenter.online import Decision, FreeSegmenter
from turia.stream.trace import Write
from turia.text.vocabulary import Vocabulary
from turia.training.segmenter.by_stream import StreamTagger, exported


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def unlist(folder: Path, begin: str) -> None:
    """Takes the files whose names begin so out of SHA256SUMS, and leaves them where they are."""
    sums = folder / "SHA256SUMS"
    lines = sums.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.split()[1].startswith(begin)]
    assert len(kept) < len(lines)
    sums.write_text("".join(kept), encoding="utf-8")


def test_a_segmenter_that_the_sums_do_not_name_is_none(folder: Path) -> None:
    assert describe("model", folder).windows == (0, 2)
    unlist(folder, "segmenter")
    assert describe("model", folder).windows == ()
    with pytest.raises(ModelError, match="the model has no segmenter; ask for punctuation"):
        Translator.load(folder).stream()


@pytest.mark.parametrize("name", ["segmenter-w2.onnx", "segmenter.weights", "segmenter-vocabulary.txt"])
def test_a_segmenter_is_used_only_if_the_sums_name_all_of_it(folder: Path, name: str) -> None:
    unlist(folder, name)
    with pytest.raises(ModelError, match=f"{name}: not in SHA256SUMS, so it cannot be checked"):
        Translator.load(folder).stream(window=2)


def put_stream_segmenter(folder: Path) -> None:
    """A segmenter that reads the stream once, in place of the other kind."""
    for file in folder.glob("segmenter*"):
        file.unlink()
    torch.manual_seed(1)
    vocabulary = Vocabulary.learn(dict.fromkeys(made_up_words()[:50], 1), 50)
    model = SegmenterModel("stream", windows=(2,), embedding=8, hidden=8, feed_forward=8)
    network = exported(StreamTagger(model, len(vocabulary)))
    vocabulary.save(folder / VOCABULARY_FILE)
    network.save(folder / WEIGHTS_FILE)
    decisions = dict.fromkeys(range(3), Decision(0.99, (0.0,)))
    SegmenterSettings("de", len(vocabulary), decisions, network.shape).save(folder)
    write_sums(folder)


def test_a_segmenter_that_reads_the_stream_once_is_checked_and_used(folder: Path) -> None:
    put_stream_segmenter(folder)
    assert describe("model", folder).windows == (0, 1, 2)
    stream = Translator.load(folder).stream(window=2)
    assert type(stream.segmenter).__name__ == "StreamSegmenter"
    check_segmenter(folder, 2)
    unlist(folder, WEIGHTS_FILE)
    with pytest.raises(ModelError, match=f"{WEIGHTS_FILE}: not in SHA256SUMS, so it cannot be checked"):
        check_segmenter(folder, 2)
    with pytest.raises(ModelError, match=f"{WEIGHTS_FILE}: not in SHA256SUMS, so it cannot be checked"):
        Translator.load(folder).stream(window=2)


def test_a_stream_goes_on_when_its_model_got_another_kind_of_segmenter(folder: Path) -> None:
    before = Translator.load(folder)
    first = before.stream(k=2)
    for word in made_up_words()[:13]:
        first.push(word)
    put_stream_segmenter(folder)
    after = Translator.load(folder)
    rest = after.restore(json.loads(json.dumps(first.state())))
    assert rest.segmenter.pending == first.segmenter.pending
    assert any(isinstance(record, Write) for record in rest.flush())
    back = before.restore(json.loads(json.dumps(after.stream(k=2).state())))
    assert back.segmenter.window == 2


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ({"threads": 1.5}, r"threads is 1\.5, expected a whole number from 1"),
        ({"threads": 0}, "threads is 0, expected a whole number from 1"),
        ({"threads": -1}, "threads is -1, expected a whole number from 1"),
        ({"providers": ()}, r"providers is \(\), expected the names of one or more"),
        (
            {"providers": "CPUExecutionProvider"},
            "providers is 'CPUExecutionProvider', expected the names of one or more",
        ),
    ],
)
def test_arguments_out_of_range_are_named(model_folder: Path, argument: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Translator.load(model_folder, **argument)


def test_what_is_no_fault_of_the_graphs_is_not_called_one(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("turia.runtime.graphs.feeds", fail)
    with pytest.raises(MemoryError):
        Translator.load(model_folder, kernels="onnx")


def test_segmentation_names_where_sentences_end(free_folder: Path) -> None:
    translator = Translator.load(free_folder)
    kinds = {name: str(translator.stream(segmentation=name).segmenter.reason) for name in get_args(Segmentation)}
    assert kinds == {"model": "segmenter", "punctuation": "punctuation", "free": "free"}
    assert str(translator.stream(punctuation=True).segmenter.reason) == "punctuation"


@pytest.mark.parametrize(
    ("chosen", "complaint"),
    [
        ({"segmentation": "none"}, "segmentation is 'none', expected one of 'model', 'punctuation', 'free'"),
        ({"segmentation": "free", "punctuation": True}, "punctuation and segmentation 'free' are both given"),
        ({"segmentation": "free", "cut": "length"}, "cut is 'length', expected one of 'attention', 'reverse'"),
        ({"segmentation": "free", "cut": "reverse"}, "none is loaded: give --reverse-model"),
        ({"cut": "attention"}, "cut is given, which is for segmentation 'free'"),
        ({"segmentation": "free", "segmenter": FreeSegmenter()}, "segmenter and segmentation are both given"),
    ],
)
def test_sentence_ends_that_cannot_be_are_refused(free_folder: Path, chosen: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Translator.load(free_folder).stream(**chosen)


def test_a_model_that_was_not_trained_for_it_does_not_go_without_a_segmenter(model_folder: Path) -> None:
    with pytest.raises(ModelError, match=r"^de-en: segmentation 'free' needs a model that was trained .*free-de-en"):
        Translator.load(model_folder).stream(segmentation="free")


def test_a_stream_without_a_segmenter_is_restored(free_folder: Path) -> None:
    translator = Translator.load(free_folder)
    words = made_up_words()[:24]
    whole = translator.stream(segmentation="free", k=2, max_lag=6)
    expected = [record for word in words for record in whole.push(word)] + whole.flush()
    first = translator.stream(segmentation="free", k=2, max_lag=6)
    found = [record for word in words[:13] for record in first.push(word)]
    rest = translator.restore(json.loads(json.dumps(first.state())))
    found += [record for word in words[13:] for record in rest.push(word)] + rest.flush()
    assert found == expected
    assert any(isinstance(record, Write) for record in found)
