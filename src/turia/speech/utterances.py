"""Cuts sound into utterances, by a detector's judgement of each chunk, and says when one is worth decoding.

An utterance begins `LEAD` seconds before the speech, as recognisers lose first words that begin at once. While it
grows, it is decoded again and again. A short pause settles what was said so far. A long one ends the utterance. One
that grows too long, which recognisers answer with inventions, is cut where its last seconds are quietest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from enum import Enum

import numpy as np

from turia.speech.recogniser import RATE, Samples
from turia.speech.voice import CHUNK, VoiceDetector

LEAD = 0.3
SHORT_PAUSE, LONG_PAUSE = 0.3, 0.6
LONGEST, QUIET_WITHIN = 12.0, 4.0
"""The longest utterance, and how far from its end the quietest place is looked for."""
AGAIN, AGAIN_SHARE = 0.5, 0.08
"""An utterance is decoded again after so many seconds, or after this share of its length, whichever is more."""
BEGINS, GOES_ON = 0.5, 0.35
"""Probabilities of speech. Two chunks over the first begin an utterance, one over the second carries it on."""
SECONDS = CHUNK / RATE


class Moment(Enum):
    """Why the utterance should be decoded now."""

    GROWN = "grown"
    PAUSE = "pause"
    CUT = "cut"
    """It has become too long, and ends here; the next one follows without a pause."""
    END = "end"


class Utterances:
    """Sound in, moments out. At each moment `sound` is the utterance so far, from `start` on."""

    def __init__(self, detector: VoiceDetector) -> None:
        self._detector = detector
        self._rest = np.zeros(0, np.float32)
        """Sound that is less than a chunk."""
        self._lead: deque[Samples] = deque(maxlen=round(LEAD / SECONDS))
        self._chunks: list[Samples] = []
        self._voiced: list[float] = []
        """Of the utterance: its chunks and their probabilities. Empty between utterances."""
        self._seen = 0
        """Chunks since the beginning."""
        self._was_voice = False
        self._silence = 0
        """Chunks since the last one with speech."""
        self._decoded = 0
        """Chunks of the utterance at the last moment."""
        self.speech_seconds = 0.0

    @property
    def start(self) -> float:
        """Seconds at which the utterance begins."""
        return (self._seen - len(self._chunks)) * SECONDS

    @property
    def begun(self) -> bool:
        """Whether there is an utterance now."""
        return bool(self._chunks)

    @property
    def needed_from(self) -> float:
        """Seconds from which on the sound is still needed: that of the utterance, or what would lead the next one."""
        return self.start if self._chunks else (self._seen - len(self._lead)) * SECONDS

    @property
    def speech(self) -> tuple[float, float]:
        """Where in the utterance its speech begins and ends, in seconds."""
        begin = next((i for i, probability in enumerate(self._voiced) if probability >= GOES_ON), 0)
        return begin * SECONDS, (len(self._chunks) - self._silence) * SECONDS

    @property
    def sound(self) -> Samples:
        return np.concatenate(self._chunks)

    def push(self, samples: Samples) -> Iterator[Moment]:
        """The moments in these samples. Each must be dealt with before the next is asked for."""
        sound = np.concatenate([self._rest, samples])
        whole = len(sound) // CHUNK * CHUNK
        # A copy: what is left must not keep all the rest in memory.
        self._rest = sound[whole:].copy()
        for begin in range(0, whole, CHUNK):
            yield from self._take(sound[begin : begin + CHUNK].copy())

    def flush(self) -> Iterator[Moment]:
        """The sound is over; an utterance ends with it."""
        if len(self._rest):
            yield from self._take(np.pad(self._rest, (0, CHUNK - len(self._rest))))
            self._rest = self._rest[:0]
        if self._chunks:
            yield Moment.END
            self._forget(len(self._chunks))

    def _take(self, chunk: Samples) -> Iterator[Moment]:
        probability = self._detector(chunk)
        self._seen += 1
        if not self._chunks:
            self._lead.append(chunk)
            begins = probability >= BEGINS and self._was_voice
            self._was_voice = probability >= BEGINS
            if begins:
                self._chunks, self._voiced = list(self._lead), [0.0] * (len(self._lead) - 2) + [probability] * 2
                self._lead.clear()
                self._silence, self._decoded = 0, 0
                self.speech_seconds += 2 * SECONDS
            return
        self._chunks.append(chunk)
        self._voiced.append(probability)
        if probability >= GOES_ON:
            self._silence = 0
            self.speech_seconds += SECONDS
        else:
            self._silence += 1
        yield from self._moments()

    def _moments(self) -> Iterator[Moment]:
        length = len(self._chunks)
        if self._silence >= round(LONG_PAUSE / SECONDS):
            yield Moment.END
            self._forget(length)
        elif length * SECONDS >= LONGEST:
            within = round(QUIET_WITHIN / SECONDS)
            yield from self._cut(length - within + 1 + int(np.argmin(self._voiced[-within:])))
        elif self._silence == round(SHORT_PAUSE / SECONDS):
            self._decoded = length
            yield Moment.PAUSE
        elif not self._silence and (length - self._decoded) * SECONDS >= max(AGAIN, AGAIN_SHARE * length * SECONDS):
            self._decoded = length
            yield Moment.GROWN

    def _cut(self, kept: int) -> Iterator[Moment]:
        """Ends the utterance after `kept` of its chunks; the others begin the next."""
        chunks, voiced, silence = self._chunks[kept:], self._voiced[kept:], self._silence
        self._chunks, self._voiced = self._chunks[:kept], self._voiced[:kept]
        self._seen -= len(chunks)
        self._silence = 0
        yield Moment.CUT
        self._seen += len(chunks)
        self._chunks, self._voiced, self._silence, self._decoded = chunks, voiced, silence, 0

    def _forget(self, length: int) -> None:
        self._lead.extend(self._chunks[:length])
        self._chunks, self._voiced, self._was_voice = [], [], False
