"""One speaker, several latencies: streams of one model that are given the same words and differ in when they write.

    audience = translator.audience([2, 8, "local-agreement:n=2"])
    soon, late, sure = audience.push("guten")

Sentence ends are found once. The source is encoded once wherever the streams see the same of it (turia.engine.shared),
and all of them take their steps together, as one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from turia.engine.backend import Steps
from turia.engine.batcher import run_together
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.shared import SharedSource
from turia.engine.source_words import shortened
from turia.engine.stream import Stream
from turia.engine.tail import Partial
from turia.errors import InputError
from turia.policy.base import LearnedPolicy, LookingPolicy, Policy
from turia.policy.waitk import WaitK
from turia.segmenter.announced import AnnouncedSegmenter
from turia.segmenter.online import Reason, ReleasedWord, Segmenter
from turia.stream.trace import Record

T = TypeVar("T")


class Audience:
    """Streams of one speaker. Each method gives one result for each stream, in their order."""

    def __init__(self, model: Model, segmenter: Segmenter, settings: Sequence[Settings]) -> None:
        """A stream for each of the `settings`; `segmenter` is for all of them."""
        if not settings:
            raise InputError("an audience needs at least one latency")
        if segmenter.reason is Reason.FREE:
            raise InputError(
                "segmentation is 'free', but streams at several latencies need sentence ends that are told"
            )
        self._segmenter = segmenter
        self.streams = [Stream(model, AnnouncedSegmenter(segmenter.window), one) for one in settings]
        self._share()

    def push(self, word: str, seconds: float | None = None) -> list[list[Record]]:
        """As `Stream.push`."""
        if isinstance(word, str):
            parts = word.split()
            self._segmenter.expect(len(parts))
            self._announce([released for part in parts for released in self._segmenter.push(shortened(part))])
        return self._together(lambda stream: stream.push_steps(word, seconds))

    def push_partial(self, text: str) -> list[Partial]:
        """As `Stream.push_partial`."""
        return self._together(lambda stream: stream.partial_steps(text))

    def push_pause(self) -> list[list[Record]]:
        """As `Stream.push_pause`."""
        self._announce(self._segmenter.push_pause())
        return self._together(Stream.pause_steps)

    def flush(self) -> list[list[Record]]:
        """As `Stream.flush`."""
        self._announce(self._segmenter.flush())
        return self._together(Stream.flush_steps)

    def state(self) -> dict[str, Any]:
        """Everything that `restore` needs to go on with the same words, as plain JSON data."""
        streams = [stream.state() for stream in self.streams]
        return {"segmenter": self._segmenter.state(), "open": self._open, "streams": streams}

    @classmethod
    def restore(cls, model: Model, segmenter: Segmenter, state: dict[str, Any]) -> Audience:
        """An audience that goes on where `state` was taken; `segmenter` is a new one of the same kind."""
        try:
            saved, words = state["streams"], state["open"]
            segmenter.restore(state["segmenter"])
            if not saved or type(words) is not int or words < 0:
                raise ValueError("expected streams, and a number of words")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not the state of an audience: {error}") from error
        audience = cls.__new__(cls)
        audience._segmenter = segmenter
        audience.streams = [Stream.restore(model, AnnouncedSegmenter(segmenter.window), one) for one in saved]
        audience._share()
        audience._open = words
        return audience

    def _share(self) -> None:
        self._open = 0
        """Words of the sentence that have come out of the segmenter."""
        source = SharedSource()
        for stream in self.streams:
            stream.share(source)

    def _announce(self, released: Sequence[ReleasedWord]) -> None:
        """Tells all streams which sentences have ended."""
        lengths = []
        for one in released:
            self._open += one.word is not None
            if one.ends_sentence:
                lengths.append(self._open)
                self._open = 0
        if not lengths:
            return
        for stream in self.streams:
            assert isinstance(stream.segmenter, AnnouncedSegmenter)
            stream.segmenter.announce(lengths)
            # They have read on without that end.
            stream.ghosts.clear()

    def _together(self, work: Callable[[Stream], Steps[T]]) -> list[T]:
        return run_together([work(stream) for stream in self.streams], self.streams[0].model.backend)


EARLIEST = 2
"""Source words after which policies that look at the model write their first word, as a rule; some wait for more."""


def common_block(model: Model, policies: Sequence[Policy]) -> int | None:
    """The first block that lets streams with these policies share what is encoded: the smallest k, or less where a
    policy looks at the model and writes sooner. Without any of both, the k of wait-k by default. None if the model's
    masks do not know first blocks of a sentence."""
    if model.anchor == "window":
        return None
    looks = any(isinstance(policy, LookingPolicy | LearnedPolicy) for policy in policies)
    blocks = [policy.k for policy in policies if isinstance(policy, WaitK)]
    return min([*blocks, EARLIEST] if looks else blocks, default=WaitK.k)
