"""Each model in the package translates its sample speech as it did when it was recorded:

    turia translate --model de-en --k 6 src/turia/server/static/sample.de.txt > tests/recorded/de-en.txt

Kernels of another CPU may round another way and turn a choice that was close, so a few words may differ. A path that is
broken (masks, normalisation, subwords, sentence ends) changes more than the share allowed here. History is off by
default and not in this test.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from rapidfuzz.distance import Levenshtein

from turia.cli import main
from turia.engine.translator import packaged_models

RECORDED = Path(__file__).parent / "recorded"
SAMPLES = Path(__file__).parents[1] / "src/turia/server/static"
SAME = 0.85
"""Least share of words that must be as recorded."""


@pytest.mark.parametrize("model", packaged_models())
def test_the_sample_speech_is_translated_as_recorded(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = model.split("-")[0]
    assert main(["translate", "--model", model, "--k", "6", str(SAMPLES / f"sample.{source}.txt")]) == 0
    written = capsys.readouterr().out.split()
    recorded = (RECORDED / f"{model}.txt").read_text(encoding="utf-8").split()
    assert len(recorded) > 200
    assert Levenshtein.normalized_similarity(written, recorded) >= SAME, " ".join(written)


def test_no_recording_is_left_of_a_model_that_is_not_shipped() -> None:
    assert {path.stem for path in RECORDED.glob("*.txt")} == set(packaged_models())
