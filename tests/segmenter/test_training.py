"""A language whose sentences end with one word is learned in seconds, and what was learned is what runs."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest

from turia.config import Corpus, SegmenterData, SegmenterModel, SegmenterRecipe, SegmenterTraining
from turia.errors import InputError
from turia.segmenter.classifier import Classifier, ClassifierSegmenter
from turia.segmenter.evaluation import evaluate, stream_of
from turia.segmenter.preparation import prepare
from turia.segmenter.training import train


def write_corpus(path: Path, seed: int, sentences: int) -> list[str]:
    """Sentences of 2 to 8 words; only the last one is `stop` or is followed by `go`."""
    generator = random.Random(seed)
    lines = [
        " ".join(["go", *generator.choices("abcdef", k=generator.randint(1, 6)), "stop"]) for _ in range(sentences)
    ]
    path.write_text("".join(f"{number // 9}\t{line}\tx\n" for number, line in enumerate(lines)), encoding="utf-8")
    return lines


@pytest.mark.parametrize("network", ["ff-text", "rnn"])
def test_a_simple_language_is_learned(tmp_path: Path, network: str) -> None:
    write_corpus(tmp_path / "train.tsv", 1, 400)
    lines = write_corpus(tmp_path / "dev.tsv", 2, 60)
    recipe = SegmenterRecipe(
        language="de",
        run=tmp_path / "run",
        data=SegmenterData((Corpus(path=tmp_path / "train.tsv"),), (Corpus(path=tmp_path / "dev.tsv"),)),
        model=SegmenterModel(network, windows=(0, 2), embedding=8, hidden=16, feed_forward=16, dropout=0.0),  # type: ignore[arg-type]
        training=SegmenterTraining(epochs=2, samples_per_epoch=6000, batch=100, learning_rate=0.02, threads=1),
    )
    shares: list[float] = []
    report = train(recipe, lambda share, detail: shares.append(share))
    assert set(report.f1) == {0, 2}
    assert min(report.f1.values()) > 0.99
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    log = [json.loads(line) for line in (recipe.run / "log.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in log] == [1, 2]

    words, expected = stream_of(line.split() for line in lines)
    for window in (0, 2):
        classifier = Classifier(report.folder, window)
        assert classifier.decision.threshold == pytest.approx(report.thresholds[window])
        assert evaluate(ClassifierSegmenter(classifier), words, expected).f1 > 0.99


def test_corpora_without_words_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text("1\t–\tx\n", encoding="utf-8")
    corpora = (Corpus(path=tmp_path / "empty.tsv"),)
    with pytest.raises(InputError, match="no sentence in 'de'"):
        train(SegmenterRecipe("de", SegmenterData(corpora, corpora), run=tmp_path / "run"))


def test_prepared_texts_are_made_anew_only_when_something_changed(tmp_path: Path) -> None:
    write_corpus(tmp_path / "train.tsv", 1, 20)
    corpora = (Corpus(path=tmp_path / "train.tsv"),)
    recipe = SegmenterRecipe("de", SegmenterData(corpora, corpora))
    folder = tmp_path / "data"
    entries = prepare(recipe, folder).entries
    (folder / "train.words.npy").unlink()
    assert prepare(recipe, folder).entries == entries
    assert not (folder / "train.words.npy").exists()

    smaller = dataclasses.replace(recipe, model=SegmenterModel(vocabulary=3))
    assert len(prepare(smaller, folder)) == 3 + 3
    assert (folder / "train.words.npy").exists()
    write_corpus(tmp_path / "train.tsv", 2, 30)
    before = (folder / "finished.json").read_text()
    prepare(smaller, folder)
    assert (folder / "finished.json").read_text() != before
