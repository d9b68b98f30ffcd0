"""A tiny segmenter, exported: weights by chance, so that it decides something at every word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from turia.config import SegmenterModel
from turia.segmenter.classifier import Classifier, Settings
from turia.segmenter.export import export
from turia.segmenter.network import Network
from turia.segmenter.online import Decision
from turia.segmenter.window import PAST
from turia.text.vocabulary import Vocabulary

WORDS = tuple("abcdefghijklmnop")


@pytest.fixture(scope="session")
def network() -> Network:
    torch.manual_seed(7)
    model = SegmenterModel(embedding=12, hidden=8, feed_forward=8)
    return Network(model, 3 + len(WORDS)).eval()


@pytest.fixture(scope="session")
def exported(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("segmenter")
    vocabulary = Vocabulary.learn(dict.fromkeys(WORDS, 1), len(WORDS))
    export(network, vocabulary, folder)
    Settings("de", len(vocabulary), dict.fromkeys(network.windows, Decision())).save(folder)
    decisions = {}
    for w in network.windows:
        # Untrained probabilities lie close together: a quarter of them shall be splits.
        ids = np.random.default_rng(w).integers(3, len(vocabulary), (500, PAST + 1 + w))
        low, high = np.quantile(Classifier(folder, w).probabilities(ids), [0.5, 0.75]).tolist()
        decisions[w] = Decision(high, (0.0, low))
    Settings("de", len(vocabulary), decisions).save(folder)
    return folder
