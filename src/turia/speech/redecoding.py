"""A recogniser made of a decoder that knows only whole recordings: it decodes each utterance again as it grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from turia.speech.agreement import Agreement, DecodedWord, letters
from turia.speech.certainty import Certainty
from turia.speech.recogniser import Recognised, Restart, Samples
from turia.speech.utterances import Moment, Utterances
from turia.speech.voice import VoiceDetector
from turia.stream.times import SpokenWord


class Decoder(Protocol):
    """Understands a short recording. It remembers nothing, so that streams can share it, one at a time."""

    @property
    def language(self) -> str | None: ...

    def decode(self, sound: Samples, speech: tuple[float, float]) -> list[DecodedWord]:
        """The words. `speech` is where speech begins and ends in the sound, for decoders without times of their own."""
        ...


RESUMED_WITHIN = 1.0
"""Seconds in which an utterance must begin that an earlier recogniser has begun already."""


class RedecodingRecogniser:
    """Voice detection, decoding and agreement put together."""

    def __init__(self, decoder: Decoder, detector: VoiceDetector, settled: Sequence[str] = ()) -> None:
        """`settled` are words at the beginning of the sound that an earlier recogniser has given already."""
        self._decoder = decoder
        self._utterances = Utterances(detector)
        self._agreement = Agreement([letters(word) for word in settled])
        self.hurried = False
        self._resumes = bool(settled)
        """Whether no utterance has begun, and some words of the first are settled."""
        self._settled_until = 0.0
        """Where in the utterance the speech ended of which all is settled."""
        self._certainty = Certainty()
        self._latest = 0.0

    @property
    def language(self) -> str | None:
        return self._decoder.language

    @property
    def certainty(self) -> float | None:
        return self._certainty.share

    @property
    def speech_seconds(self) -> float:
        return self._utterances.speech_seconds

    @property
    def restart(self) -> Restart:
        at = 0.0 if self._resumes else self._utterances.needed_from
        return Restart(at, self._agreement.settled)

    def push(self, samples: Samples) -> Recognised:
        return self._heard(self._utterances.push(samples))

    def flush(self) -> Recognised:
        return self._heard(self._utterances.flush())

    def _heard(self, moments: Iterator[Moment]) -> Recognised:
        final = [word for moment in moments for word in self._at(moment)]
        self._drop_what_is_not_resumed()
        return Recognised(tuple(final), tuple(self._spoken(word) for word in self._agreement.open))

    def _at(self, moment: Moment) -> list[SpokenWord]:
        settled = self._settled_at(moment)
        self._certainty.add((word.text, word.probability) for word in settled)
        final = []
        for word in settled:
            final.append(self._spoken(word))
            self._latest = final[-1].end or self._latest
        return final

    def _settled_at(self, moment: Moment) -> list[DecodedWord]:
        self._drop_what_is_not_resumed()
        self._resumes = False
        if moment is Moment.GROWN and self.hurried:
            return []
        agreement, speech = self._agreement, self._utterances.speech
        settled: list[DecodedWord] = []
        # Where a pause has become the end, nothing was said in between.
        if moment is not Moment.END or speech[1] > self._settled_until:
            words = self._decoder.decode(self._utterances.sound, speech)
            if moment is Moment.GROWN:
                settled = agreement.push(words)
            elif moment is Moment.CUT:
                settled, self._agreement = agreement.after_cut(words)
            else:
                settled = agreement.settle_all(words)
        if moment is Moment.END:
            self._agreement = Agreement()
        self._settled_until = speech[1] if moment is Moment.PAUSE else 0.0
        return settled

    def _drop_what_is_not_resumed(self) -> None:
        """Words that were settled, but are not heard as speech this time, must not be looked for in what follows."""
        if self._resumes and self._utterances.needed_from > RESUMED_WITHIN:
            self._resumes, self._agreement = False, Agreement()

    def _spoken(self, word: DecodedWord) -> SpokenWord:
        start = self._utterances.start
        # A decoder's times may go back a little where it has changed its mind; ours do not.
        begin, end = max(self._latest, start + word.start), max(self._latest, start + word.end)
        return SpokenWord(word.text, round(begin, 3), round(end, 3))
