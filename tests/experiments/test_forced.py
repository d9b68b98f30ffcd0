"""What runtimes make of the reference: benchmarks/forced.py, and its place in benchmarks/kernels.py."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmarks.forced import SAMPLES, forced_pairs, in_float32, logits_of, loss_of, losses, resampled
from benchmarks.kernels import interval, main
from turia.formats.documents import Document
from turia.model.checkpoint import fill_model
from turia.model.transformer import Transformer
from turia.runtime.translator import Translator, find_model
from turia.text.symbols import BRK_ID, CONT_ID, DOC_ID, END_ID
from turia.training.transfer import starting_weights

SPEECH = Document(
    "d",
    ["Wir müssen das heute entscheiden.", "—", "Ich danke Ihnen allen für die gute Arbeit."],
    ["We have to decide this today.", "Nothing.", "I thank you all for the good work."],
)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("de-en", kernels="onnx")


def test_pairs_are_laid_out_as_in_a_stream(translator: Translator) -> None:
    first, last = forced_pairs(translator.model, [SPEECH], 4)
    assert [first.target[0], first.target[-1]] == [DOC_ID, BRK_ID]
    assert [last.source[0], last.target[0], last.source[-1], last.target[-1]] == [CONT_ID, CONT_ID, END_ID, END_ID]
    assert translator.model.source_subwords.decode_words(last.source[1:5].tolist())[:2] == ["ich", "danke"]
    assert len(first.limit) == len(first.target) - 1
    assert first.limit[0] < first.limit[-1] == len(first.source)
    assert not forced_pairs(replace(translator.model, max_positions=4), [SPEECH], 4)


def test_float32_is_the_torch_model_with_the_same_weights(translator: Translator) -> None:
    folder = find_model("de-en")
    place, weights = starting_weights(folder)
    model = Transformer(translator.config.shape).eval()
    fill_model(model, weights, place)
    pairs = forced_pairs(translator.model, [SPEECH], 4)
    with in_float32(folder) as reference:
        for pair in pairs:
            fed = (pair.source, pair.reach, pair.target[:-1], pair.limit)
            with torch.no_grad():
                expected = model.logits(model(*(torch.from_numpy(ids)[None] for ids in fed))[0]).numpy()
            np.testing.assert_allclose(logits_of(reference.model, pair), expected, atol=1e-3)
        measured = losses({"one": translator.model, "other": reference.model}, reference.model, pairs)
    assert measured["sentences"] == 2
    assert measured["loss"]["other"] == measured["loss"]["float32"]
    assert measured["logits"]["other"] == {"mean_error": 0, "rms_error": 0, "same_best_piece": 1}
    assert 0 < measured["logits"]["one"]["rms_error"] < 0.2
    assert measured["difference"] == pytest.approx(measured["loss"]["other"] - measured["loss"]["one"])
    low, high = measured["interval"]
    assert low < measured["difference"] < high


def test_the_loss_is_the_cross_entropy() -> None:
    logits, labels = np.random.default_rng(2).standard_normal((5, 9)), np.array([0, 8, 3, 3, 1])
    expected = torch.nn.functional.cross_entropy(torch.from_numpy(logits), torch.from_numpy(labels), reduction="sum")
    assert loss_of(logits, labels) == pytest.approx(float(expected))


def test_the_interval_is_that_of_the_mean() -> None:
    random = np.random.default_rng(3)
    pieces = np.full(400, 10)
    low, high = resampled(random.normal(0.5, 2.0, 400), pieces)
    # 1.96 standard errors to each side, of the mean a piece.
    assert high - low == pytest.approx(2 * 1.96 * 2.0 / 20 / 10, rel=4 / SAMPLES**0.5)
    assert low < 0.05 < high


def test_a_difference_that_is_the_same_for_every_piece_has_no_interval() -> None:
    """However long the sentences are that were drawn: what they lose is divided by their own pieces."""
    pieces = np.random.default_rng(4).integers(1, 60, size=50)
    assert resampled(0.25 * pieces.astype(np.float64), pieces) == (0.25, 0.25)


def test_of_texts_that_are_equal_bleu_does_not_differ() -> None:
    references = [f"the {number} good words of sentence {number}" for number in range(30)]
    worse = [text.replace("good", "bad") if number % 3 else text for number, text in enumerate(references)]
    assert interval(worse, worse, references) == (0, 0)
    low, high = interval(worse, references, references)
    assert 0 < low < high
    low, high = interval(references, worse, references)
    assert low < high < 0


@pytest.mark.parametrize(("gains", "code"), [((-0.09, -0.09), 0), ((2.0, -0.2), 1), ((-0.2, 2.0), 1), ((), 0)])
def test_one_dev_set_does_not_hide_what_another_loses(
    gains: tuple[float, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter(gains)

    def load(name: str, kernels: str) -> SimpleNamespace:
        return SimpleNamespace(model=SimpleNamespace(backend=None))

    monkeypatch.setattr(Translator, "load", load)
    monkeypatch.setattr("benchmarks.kernels.quality", lambda *_: {"bleu": {"onnx": 20.0, "native": 20.0 + next(found)}})
    sets = ["--dev", *(str(number) for number in range(len(gains)))] if gains else []
    monkeypatch.setattr("sys.argv", ["kernels", "de-en", "--rounds", "0", *sets])
    assert main() == code


def test_the_loss_is_that_of_a_dev_set(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["kernels", "de-en", "--rounds", "0", "--loss"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "--loss needs --dev" in capsys.readouterr().err
