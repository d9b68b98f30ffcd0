"""Turia beside CTranslate2: both stream by the same policy, and what is printed is their ratio."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from turia.cli import main
from turia.engine.settings import Settings
from turia.experiments.contest import CTranslate2Streamer, TuriaStreamer, contest
from turia.runtime.translator import Translator

pytest.importorskip("ctranslate2")

from turia.export.as_ctranslate2 import save_as_ctranslate2

SPEECH = [["wir", "haben", "heute", "ein", "sehr", "gutes", "haus"], ["das", "ist", "alles"]]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ctranslate2")
    save_as_ctranslate2(Path(__file__).parents[2] / "src" / "turia" / "models" / "de-en", folder)
    return folder


@pytest.mark.parametrize("beam", [1, 4])
def test_whole_sentences_are_translated_alike(theirs: Path, beam: int) -> None:
    """With a k that waits for the whole sentence, both are ordinary translators of the same weights.

    Both compare by the mean of log-probabilities. With another penalty of length they may differ, as their searches
    end by other rules.
    """
    model = replace(Translator.load("de-en").model, length_penalty=1.0)
    settings = Settings(k=50, gamma=model.gamma, history=0, beam=beam, encoding="full")
    speech = SPEECH[:1]
    assert CTranslate2Streamer(theirs, model, settings)(speech) == TuriaStreamer(model, settings)(speech)


@pytest.mark.parametrize("beam", [1, 4])
def test_words_are_written_while_the_sentence_is_spoken(theirs: Path, beam: int) -> None:
    """What CTranslate2 writes by wait-k begins before the last word is known, so that word cannot change it."""
    model = Translator.load("de-en").model
    streamer = CTranslate2Streamer(theirs, model, Settings(k=2, gamma=1.0, history=0, beam=beam))
    known, other = streamer([[*SPEECH[0][:-1], "haus"]]), streamer([[*SPEECH[0][:-1], "buch"]])
    # Of six words known, with two words of lead, five target words are written.
    assert known[:5] == other[:5]
    assert known != other


def test_both_are_timed_and_compared(theirs: Path) -> None:
    model = Translator.load("de-en").model
    shown: list[float] = []
    found = contest(model, theirs, SPEECH, 4, (1, 2), 2, lambda share, detail: shown.append(share))
    assert shown == [0, 0.25, 0.5, 0.75]
    data = json.loads(json.dumps(found.as_json()))
    assert data["words"] == 10
    assert [match["beam"] for match in data["matches"]] == [1, 2]
    for match in data["matches"]:
        assert match["turia"] > 0
        assert match["ratio"] == pytest.approx(match["turia"] / match["ctranslate2"])
        assert 8 <= match["turia_words"] <= 14
        assert 8 <= match["ctranslate2_words"] <= 14
    assert found.table().row_count == 2


@pytest.mark.slow
def test_the_command_measures_it_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "de-en", "--contest", "--quick", "--beam", "2", "--json"]) == 0
    (match,) = json.loads(capsys.readouterr().out)["matches"]
    assert match["beam"] == 2
    assert main(["bench", "--contest"]) == 2
    assert "the comparison with CTranslate2 needs a MODEL" in capsys.readouterr().err
