"""The segmenter whose network reads the stream once, word by word (segmenter/stream_network.py). No torch.

What it has decided does not change what it reads: only a pause, or the end of the stream, begins anew.
"""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from turia.errors import ModelError
from turia.segmenter.classifier import SETTINGS_FILE, WEIGHTS_FILE, Classifier, SegmenterSettings
from turia.segmenter.online import MAX_WORDS, Decision, Reason, ReleasedWord, Segmenter, State, check_state
from turia.segmenter.stream_network import Floats, StreamNetwork
from turia.text.normalise import normalise_word

_STATE = np.dtype("<f4")


class StreamClassifier:
    """One window of an exported network, loaded once and shared by all streams."""

    def __init__(self, folder: Path, window: int) -> None:
        self.settings = SegmenterSettings.load(folder)
        if self.settings.stream is None:
            raise ModelError(f"{folder / SETTINGS_FILE}: not of a network that reads the stream once")
        self.window = window
        self.decision = self.settings.decision_of(window, folder)
        self.vocabulary = self.settings.vocabulary_of(folder)
        self.network = StreamNetwork.load(folder / WEIGHTS_FILE, self.settings.stream, len(self.vocabulary))

    def segmenter(self, max_words: int | None = MAX_WORDS, decision: Decision | None = None) -> Segmenter:
        """A segmenter of a stream; `decision` replaces the one chosen on the dev set."""
        return StreamSegmenter(self, max_words, decision)

    def probability(self, states: Sequence[Floats]) -> float:
        """Of a sentence end at the first of `states`, in units of the threshold of this window.

        Where fewer words are known than the window has, another output answers, which was given another threshold.
        """
        heard = self.settings.decisions[len(states) - 1]
        probability = self.network.probability(states)
        if len(states) == self.window + 1 or not heard.threshold:
            return probability
        return min(1.0, probability * self.decision.threshold / heard.threshold)

    def __deepcopy__(self, memo: object) -> StreamClassifier:
        """Itself: a copy of a stream shares it, as all streams do."""
        return self


class StreamSegmenter(Segmenter):
    """Direct segmentation of a stream without punctuation; the past is all that was said since the last pause."""

    reason = Reason.SEGMENTER

    def __init__(
        self, classifier: StreamClassifier, max_words: int | None = MAX_WORDS, decision: Decision | None = None
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
        words = [spoken, *(after for raw in following if (after := normalise_word(raw)))]
        network, vocabulary = self.classifier.network, self.classifier.vocabulary
        for unread in words[len(self._states) :]:
            newest = self._states[-1] if self._states else self._before
            self._states.append(network.read(newest, vocabulary.id(unread)))
        return self.classifier.probability(self._states)

    def _remember(self, word: str | None, ended: bool) -> None:
        if word is not None and self._states and normalise_word(word):
            self._before = self._states.popleft()

    def _close(self, reason: Reason) -> list[ReleasedWord]:
        visible = super()._close(reason)
        self._begin()
        return visible

    def _begin(self) -> None:
        self._before = self.classifier.network.start
        """The state before the oldest word that has not come out."""
        self._states: deque[Floats] = deque()
        """Those of the words that have not come out, as far as they were needed."""

    def _own_state(self) -> State:
        return {
            "network": self.classifier.network.fingerprint,
            "before": base64.b64encode(self._before.astype(_STATE).tobytes()).decode(),
        }

    def _restore_own(self, state: State) -> None:
        if state.get("network") != self.classifier.network.fingerprint:
            # Of another network, as after an update of the model: this one begins anew, as after a pause.
            self._begin()
            return
        before = state["before"]
        try:
            found = np.frombuffer(base64.b64decode(before, validate=True), _STATE).astype(np.float32)
        except (TypeError, ValueError):
            found = np.empty(0, dtype=np.float32)
        # A state lies between -1 and 1, but for rounding.
        fits = found.shape == self._before.shape and bool((np.abs(found) < 2).all())
        check_state("before", before, fits)
        self._begin()
        self._before = found


AnyClassifier = Classifier | StreamClassifier


def load_classifier(folder: Path, window: int) -> AnyClassifier:
    """The classifier of an exported folder, of whichever kind its network is."""
    return (StreamClassifier if SegmenterSettings.load(folder).stream else Classifier)(folder, window)
