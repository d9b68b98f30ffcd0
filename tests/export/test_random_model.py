"""Models with random weights: they load like others, and their language is always the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.export.random_model import made_up_words, random_folder, write_random_folder
from turia.runtime.folder import load_folder
from turia.runtime.translator import Translator


@pytest.mark.slow
def test_random_folders_are_models_and_go_away() -> None:
    with random_folder("tiny", "float32") as folder:
        assert Translator.load(folder).config.precision == "float32"
    assert not folder.exists()


def test_the_language_is_always_the_same_and_frequent_words_are_short() -> None:
    words = made_up_words()
    assert len(set(words)) == len(words) == 30_000
    assert words[:3] == made_up_words.__wrapped__()[:3]
    assert sum(map(len, words[:1000])) < sum(map(len, words[-1000:]))


def test_a_folder_has_the_size_that_was_asked_for(tmp_path: Path) -> None:
    write_random_folder(tmp_path, "tiny", "int8", ("de", "en"), vocabulary=400, max_positions=64)
    config = load_folder(tmp_path).config
    assert (config.source_language, config.target_language, config.precision) == ("de", "en", "int8")
    assert (config.shape.width, config.shape.source_vocabulary, config.shape.max_positions) == (64, 400, 64)
    assert config.shape.joint
