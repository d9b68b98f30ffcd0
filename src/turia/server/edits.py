"""What an operator asks of a session, as an input of its captions, and the events that changes of the text become."""

from __future__ import annotations

from dataclasses import dataclass

from turia.protocol.corrections import Correct, Correction, Insert, Insertion, OperatorMessage, TextChange
from turia.protocol.values import ProtocolError


@dataclass(frozen=True)
class Steered:
    """What an operator asks for. It has no number: numbers are the speaker's."""

    message: OperatorMessage

    @property
    def changes_text(self) -> bool:
        """Whether nothing but the text is changed, which can be done when the session has ended too."""
        return isinstance(self.message, TextChange)


@dataclass
class Edits:
    """The lines that an operator has put into a session."""

    inserted: int = 0

    def check(self, message: TextChange, newest: int) -> None:
        """That the line is there; `newest` is the sentence being spoken."""
        line = message.sentence if isinstance(message, Correct) else message.before
        if line > newest:
            raise ProtocolError("message", f"there is no sentence {line} yet; the newest is {newest}")
        if isinstance(message, Insert) and message.number is not None and message.number >= self.inserted:
            raise ProtocolError(
                "message", f"there is no line {message.number} of those put in; so far: {self.inserted}"
            )

    def event(self, message: TextChange, ms: float) -> Correction | Insertion:
        """The change as everybody sees it."""
        if isinstance(message, Correct):
            return Correction(message.sentence, message.words, message.text, ms)
        number = self.inserted if message.number is None else message.number
        self.inserted = max(self.inserted, number + 1)
        return Insertion(number, message.before, message.text, ms)
