"""What `turia models` says of a model folder is what the folder says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.runtime.test_card import CARD
from turia.cli import main
from turia.interop.installed import describe
from turia.runtime.folder import CARD_FILE


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "tiny"
    shutil.copytree(model_folder, copy)
    (copy / CARD_FILE).write_text(CARD, encoding="utf-8")
    return copy


def test_a_model_is_described_by_its_folder(folder: Path) -> None:
    found = describe("tiny", folder)
    assert (found.source_language, found.target_language) == ("de", "en")
    assert found.windows == (0, 2)
    assert found.data[:2] == ("Europarl v10", "Tatoeba: 2024")
    # 500 pieces of 64; 2 encoder layers of an attention and a feed-forward; 2 decoder layers with one attention more.
    attention, feed_forward, norm = 4 * 64 * 64 + 4 * 64, 2 * 64 * 128 + 128 + 64, 2 * 64
    encoder = 2 * (attention + feed_forward + 2 * norm) + norm
    decoder = 2 * (2 * attention + feed_forward + 3 * norm) + norm
    assert found.parameters == 500 * 64 + encoder + decoder
    assert found.megabytes == pytest.approx(sum(file.stat().st_size for file in folder.iterdir()) / 1e6, abs=0.1)


def test_the_command_lists_models(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", str(folder), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["scores"] == ["BLEU 25.1, AL 5.3 (europarl-st test, w=2, k=8)"]
    assert main(["models", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "de → en" in printed
    assert 'tiny data: Europarl v10, Tatoeba: 2024, the "best" ä, somebody\'s\n' in printed
    assert "tiny score: BLEU 25.1, AL 5.3 (europarl-st test, w=2, k=8)\n" in printed
    assert main(["models", str(folder / "nowhere")]) == 2


def test_an_altered_model_is_not_listed_as_if_it_were_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "weights.bin").open("ab") as weights:
        weights.write(b"more")
    assert main(["models", str(folder)]) == 2
    assert "altered" in capsys.readouterr().err
