"""How many words the captions of a session are behind its speaker: the words read that have no translation yet.

Counted sentence by sentence. All words of a finished sentence are translated, however many words the translation has.
In the others, each target word stands for 1 / gamma source words, as the page counts too.
"""

from __future__ import annotations

from collections.abc import Sequence

from turia.protocol.events import Event, SettingsInForce
from turia.server.captions import Captions
from turia.stream.trace import SentenceEnd, Write


class Lag:
    """Follows the events of one session, from where its captions are now."""

    def __init__(self, captions: Captions) -> None:
        finished = captions.finished()
        self._read, self._written = finished.read, finished.written
        """Source and target words of finished sentences."""
        self._gamma = captions.stream.settings.gamma

    def of(self, events: Sequence[Event]) -> list[int]:
        """For each target word among the next events: source words without a translation, once it is written."""
        source_words = {event.sentence: event.source_words for event in events if isinstance(event, SentenceEnd)}
        found = []
        for event in events:
            match event:
                case Write(index=index, read=read, sentence=sentence):
                    waiting = read - self._read
                    translated = int((index + 1 - self._written) / self._gamma)
                    # What was read behind the sentence is not translated by a long translation of it.
                    found.append(waiting - min(translated, waiting, source_words.get(sentence, waiting)))
                case SentenceEnd(source_words=source, target_words=target):
                    self._read, self._written = self._read + source, self._written + target
                case SettingsInForce(gamma=gamma):
                    self._gamma = gamma
        return found
