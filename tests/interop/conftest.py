"""What the tests of interop share: a tiny model, and other people's scorers.

The model folder has random weights, and so has its segmenter: complete, quick, senseless.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.interop.scorers import Scorers, install_scorers
from turia.config import SegmenterModel
from turia.runtime.folder import write_sums
from turia.runtime.random_model import made_up_words, write_random_folder
from turia.segmenter.classifier import Settings
from turia.segmenter.export import export
from turia.segmenter.network import Network
from turia.segmenter.online import Decision
from turia.text.vocabulary import Vocabulary


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    folder.mkdir()
    write_random_folder(folder, "tiny", languages=("de", "en"), vocabulary=500)
    torch.manual_seed(1)
    vocabulary = Vocabulary.learn(dict.fromkeys(made_up_words()[:50], 1), 50)
    network = Network(SegmenterModel(windows=(0, 2), embedding=8, hidden=8, feed_forward=8), len(vocabulary)).eval()
    export(network, vocabulary, folder)
    # The limit of a falling threshold is what cuts: a segmenter that knows nothing.
    Settings("de", len(vocabulary), dict.fromkeys((0, 2), Decision(0.99, (0.0,)))).save(folder)
    write_sums(folder)
    return folder


@pytest.fixture(scope="session")
def scorers() -> Scorers:
    """SimulEval and OmniSTEval themselves."""
    return install_scorers()
