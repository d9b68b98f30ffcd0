"""What `turia models` says of a model folder is what the folder says."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.commands.models import card_lines, describe
from turia.runtime.folder import WEIGHTS_FILE, read_sums, write_sums
from turia.runtime.heads import HeadList, head_file


def test_a_model_is_described_by_its_folder(described_model: Path) -> None:
    found = describe("tiny", described_model)
    assert (found.source_language, found.target_language) == ("de", "en")
    assert found.windows == (0, 2)
    assert found.data[:2] == ("Europarl v10", "Tatoeba: 2024")
    # 500 pieces of 64; 2 encoder layers of an attention and a feed-forward; 2 decoder layers with one attention more.
    attention, feed_forward, norm = 4 * 64 * 64 + 4 * 64, 2 * 64 * 128 + 128 + 64, 2 * 64
    encoder = 2 * (attention + feed_forward + 2 * norm) + norm
    decoder = 2 * (2 * attention + feed_forward + 3 * norm) + norm
    assert found.parameters == 500 * 64 + encoder + decoder
    assert found.megabytes == pytest.approx(
        sum(file.stat().st_size for file in described_model.iterdir()) / 1e6, abs=0.1
    )


def test_heads_are_named_where_there_are_some(described_model: Path) -> None:
    assert describe("tiny", described_model).heads == ()
    assert not [line for line in card_lines(describe("tiny", described_model)) if "heads" in line]
    (described_model / head_file("act-0.2")).write_bytes(b"a head")
    HeadList(read_sums(described_model)[WEIGHTS_FILE], {"act-0.2": 130}).save(described_model)
    write_sums(described_model)
    assert card_lines(describe("tiny", described_model))[-1] == "tiny heads: act-0.2"


def test_a_card_that_is_not_utf_8_is_shown_all_the_same(described_model: Path) -> None:
    """People edit cards, and no sum covers them."""
    card = described_model / "README.md"
    card.write_bytes(b"---\nlicense: mit\ndata: M\xfcller\n---\n")
    assert describe("tiny", described_model).licence == "mit"
    assert describe("tiny", described_model).data == ("M\ufffdller",)
