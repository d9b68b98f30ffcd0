"""Recipes of segmenters."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.config import SegmenterModel, SegmenterRecipe, load_recipe
from turia.errors import ConfigError
from turia.segmenter.stream_network import StreamShape


def test_a_segmenter_has_a_window_and_ids_of_16_bits() -> None:
    with pytest.raises(ConfigError, match="windows is empty, expected at least one number of future words"):
        SegmenterModel(windows=())
    with pytest.raises(ConfigError, match="vocabulary is 65001, expected at most 65000"):
        SegmenterModel(vocabulary=65_001)
    assert SegmenterModel(vocabulary=65_000, windows=(0,)).windows == (0,)


def test_a_stream_network_has_sizes_that_can_be_trained_and_exported() -> None:
    for name in ("embedding", "hidden", "feed_forward"):
        with pytest.raises(ConfigError, match=f"{name} is 4097, expected at most 4096"):
            SegmenterModel("stream", **{name: 4097})  # type: ignore[arg-type]
    assert SegmenterModel(hidden=4097).hidden == 4097
    with pytest.raises(ConfigError, match="windows has 51, expected at most 50"):
        SegmenterModel("stream", windows=(2, 51))
    widest = SegmenterModel("stream", windows=(50,), embedding=4096, hidden=4096, feed_forward=4096)
    StreamShape(widest.embedding, widest.hidden, widest.feed_forward, max(widest.windows))


@pytest.mark.parametrize("key", ["split_share = 0.2", "hidden_future = 0", "own_past = 0.0", "patience = 0"])
def test_a_key_that_changes_nothing_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "recipe.toml"
    corpora = '[data]\ntrain = [{ path = "a.tsv" }]\ndev = [{ path = "b.tsv" }]\n'
    text = f'language = "de"\n{corpora}[model]\nnetwork = "stream"\n[training]\n{key}\n'
    path.write_text(text, encoding="utf-8")
    name = key.split()[0]
    with pytest.raises(ConfigError, match=f":8: training.{name} is .*'stream', for which it changes nothing: leave it"):
        load_recipe(SegmenterRecipe, path)
    path.write_text(text.replace("stream", "rnn"), encoding="utf-8")
    assert load_recipe(SegmenterRecipe, path).model.network == "rnn"
