"""The trained segmenter, online: the exported classifier, and the segmenter that asks it at each word. No torch.

An exported folder holds

    segmenter.json              language, shapes, and how to decide, per window
    segmenter-vocabulary.txt    see text/vocabulary.py
    segmenter-wW.onnx           one graph per window W: `ids` int64 [B, P + 1 + W] → `probability` float32 [B]
    segmenter.weights           embedding and GRU, which the graphs share

or, where the network reads the stream once (segmenter/stream_classifier.py), no graphs, and all of it in
`segmenter.weights`.

Letters: B streams, P past slots, w future words.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from turia.errors import ModelError
from turia.segmenter.online import MAX_WORDS, Decision, Reason, Segmenter, State, check_state, is_words
from turia.segmenter.stream_network import StreamShape
from turia.segmenter.window import PAST, window_ids
from turia.system.files import read_json
from turia.system.onnx import load_graph
from turia.text.normalise import normalise_word
from turia.text.vocabulary import Vocabulary

VERSION = 1
STREAM_VERSION = 2
"""Of a network that reads the stream once."""
SETTINGS_FILE = "segmenter.json"
VOCABULARY_FILE = "segmenter-vocabulary.txt"
WEIGHTS_FILE = "segmenter.weights"


def graph_file(window: int) -> str:
    return f"segmenter-w{window}.onnx"


@dataclass(frozen=True)
class SegmenterSettings:
    """What `segmenter.json` says."""

    language: str
    vocabulary: int
    decisions: dict[int, Decision]
    """By window; the windows that were exported."""
    stream: StreamShape | None = None
    """Of a network that reads the stream once."""

    def files(self, window: int) -> tuple[str, ...]:
        """All that a classifier of this window reads."""
        graphs = () if self.stream else (graph_file(window),)
        return SETTINGS_FILE, VOCABULARY_FILE, *graphs, WEIGHTS_FILE

    def save(self, folder: Path) -> None:
        kind = {"stream": asdict(self.stream)} if self.stream else {"past": PAST}
        data = {
            "version": STREAM_VERSION if self.stream else VERSION,
            "language": self.language,
            **kind,
            "vocabulary": self.vocabulary,
            "windows": {
                str(window): {"threshold": decision.threshold, "falling": list(decision.falling)}
                for window, decision in self.decisions.items()
            },
        }
        (folder / SETTINGS_FILE).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> SegmenterSettings:
        path = folder / SETTINGS_FILE
        data = read_json(path, "a folder written by `turia segmenter train`", ModelError)
        try:
            version, windows = data["version"], data["windows"]
            past = data["past"] if version == VERSION else PAST
            stream = StreamShape(**data["stream"]) if version == STREAM_VERSION else None
            language, vocabulary = str(data["language"]), int(data["vocabulary"])
            decisions = {
                int(window): Decision(float(values["threshold"]), tuple(map(float, values["falling"])))
                for window, values in windows.items()
            }
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ModelError(f"{path}: incomplete or ill-typed: {error!r}") from error
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from error
        if version not in (VERSION, STREAM_VERSION):
            raise ModelError(f"{path}: version {version}, this Turia reads versions {VERSION} and {STREAM_VERSION}")
        if past != PAST:
            raise ModelError(f"{path}: {past} past words, this Turia has {PAST}")
        if any(decision.falling[:1] != (0.0,) for decision in decisions.values()):
            raise ModelError(f"{path}: `falling` must begin with 0, the limit itself")
        needed = [value for decision in decisions.values() for value in (decision.threshold, *decision.falling)]
        if not all(0 <= value <= 1 for value in needed):
            raise ModelError(f"{path}: has thresholds that are no probabilities, which lie between 0 and 1")
        if stream and sorted(decisions) != list(range(stream.longest + 1)):
            raise ModelError(f"{path}: windows are {sorted(decisions)}, expected all from 0 to {stream.longest}")
        return cls(language, vocabulary, decisions, stream)

    def decision_of(self, window: int, folder: Path) -> Decision:
        """How a window decides; `folder` is named if there is no such window."""
        if window not in self.decisions:
            known = ", ".join(map(str, sorted(self.decisions)))
            raise ModelError(f"{folder}: no segmenter of {window} future words; there are {known}")
        return self.decisions[window]

    def vocabulary_of(self, folder: Path) -> Vocabulary:
        """The vocabulary in `folder`, of as many entries as it should have."""
        found = Vocabulary.load(folder / VOCABULARY_FILE)
        if len(found) != self.vocabulary:
            raise ModelError(f"{folder / VOCABULARY_FILE}: {len(found)} entries, expected {self.vocabulary}")
        return found


def windows_in(folder: Path, listed: Container[str]) -> tuple[int, ...]:
    """Future words that the segmenters of a model look at; none, where its sums list no segmenter."""
    return tuple(sorted(SegmenterSettings.load(folder).decisions)) if SETTINGS_FILE in listed else ()


class Classifier:
    """One exported window, loaded once and shared by all streams."""

    def __init__(self, folder: Path, window: int, threads: int = 1) -> None:
        self.settings = SegmenterSettings.load(folder)
        self.window = window
        self.decision = self.settings.decision_of(window, folder)
        self.vocabulary = self.settings.vocabulary_of(folder)
        self._graph = load_graph(folder / graph_file(window), threads)
        self._check_shapes(folder / graph_file(window))

    def segmenter(self, max_words: int | None = MAX_WORDS, decision: Decision | None = None) -> Segmenter:
        """A segmenter of a stream; `decision` replaces the one chosen on the dev set."""
        return ClassifierSegmenter(self, max_words, decision)

    def probabilities(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """[B] probabilities that a sentence ends at the word of each window ids [B, P + 1 + w]."""
        result: npt.NDArray[np.float32] = self._graph.run(["probability"], {"ids": ids})[0]
        return result

    def __deepcopy__(self, memo: object) -> Classifier:
        """Itself: a copy of a stream shares it, as all streams do."""
        return self

    def _check_shapes(self, path: Path) -> None:
        length = PAST + 1 + self.window
        inputs, outputs = self._graph.get_inputs(), self._graph.get_outputs()
        shapes = [(item.name, item.type, item.shape[1:]) for item in (*inputs, *outputs)]
        expected = [("ids", "tensor(int64)", [length]), ("probability", "tensor(float)", [])]
        if shapes != expected:
            raise ModelError(f"{path}: takes and gives {shapes}, expected {expected}")
        rows = self._graph.get_modelmeta().custom_metadata_map.get("vocabulary")
        if rows != str(len(self.vocabulary)):
            raise ModelError(f"{path}: made for a vocabulary of {rows} entries, not {len(self.vocabulary)}")


class ClassifierSegmenter(Segmenter):
    """Direct segmentation of a stream without punctuation (METHOD section 5)."""

    reason = Reason.SEGMENTER

    def __init__(
        self, classifier: Classifier, max_words: int | None = MAX_WORDS, decision: Decision | None = None
    ) -> None:
        """`decision` replaces the one chosen on the dev set, `classifier.decision`."""
        super().__init__(classifier.window, decision or classifier.decision, max_words)
        self.classifier = classifier
        self._begin()

    def _probability(self, word: str, following: Sequence[str], stopped: bool) -> float:
        spoken = normalise_word(word)
        if not spoken:
            # At a word that says nothing no sentence ends by itself.
            return 0.0
        future = [after for raw in following if (after := normalise_word(raw))]
        ids = window_ids(self._past, spoken, future, self.window, stopped, self.classifier.vocabulary)
        return float(self.classifier.probabilities(np.array([ids], dtype=np.int64))[0])

    def _remember(self, word: str | None, ended: bool) -> None:
        if word is not None and (spoken := normalise_word(word)):
            self._past.append(spoken)
        if ended and self._past[-1]:
            self._past.append("")

    def _begin(self) -> None:
        self._past: deque[str] = deque([""] * PAST, maxlen=PAST)

    def _own_state(self) -> State:
        return {"past": list(self._past)}

    def _restore_own(self, state: State) -> None:
        if "network" in state:
            # Of a network that reads the stream once, which keeps no words.
            self._begin()
            return
        past = state["past"]
        # A boundary is an empty word.
        fits = isinstance(past, list) and len(past) == PAST and is_words([word for word in past if word != ""])
        check_state("past", past, fits)
        self._past = deque(past, maxlen=PAST)
