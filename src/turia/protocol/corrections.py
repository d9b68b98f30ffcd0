"""What an operator does to the text of a session, and what becomes of the lines that are shown.

A correction is an event of its own. It comes behind the words that it is about, which stay as they were: whoever reads
all events has both. A line is a sentence of the translation, by its number, or one that the operator put in.

    {"type": "correction", "sentence": 3, "words": 7, "text": "…", "ms": …}
        The first 7 words of sentence 3 are shown as this text; those behind them as they are. The newest correction of
        a sentence holds. An empty text hides the words; 0 words and an empty text shows the sentence as it was written.
    {"type": "insertion", "number": 0, "before": 4, "text": "…", "ms": …}
        A line before sentence 4. The newest insertion of a number holds; an empty text takes the line away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from turia.errors import InputError
from turia.protocol.client_messages import EndOfStream, Pause, SettingsChange, parse_client
from turia.protocol.values import MAX_SEQ, ProtocolError
from turia.schema import MismatchError, Natural, Rule, Tagged, one_of, read_json, write_json
from turia.text.glossary import parse_glossary

LONGEST_TEXT = 1000
"""Letters of a line."""


def _is_line(value: str) -> bool:
    return (
        len(value) <= LONGEST_TEXT
        and value == " ".join(value.split())
        and not any("\ud800" <= letter <= "\udfff" or not (letter.isprintable()) for letter in value)
    )


LineText = Annotated[str, Rule(_is_line, f"one line of at most {LONGEST_TEXT} letters, with single spaces")]
Time = Annotated[float, Rule(lambda value: 0 <= value <= MAX_SEQ, "milliseconds")]
Place = Annotated[int, Rule(lambda value: 0 <= value <= MAX_SEQ, "a number from 0")]


# --- events -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Correction:
    """A sentence is shown in other words."""

    sentence: Natural
    words: Natural
    """Of the sentence, from its first one, that the text stands for."""
    text: str
    ms: Time


@dataclass(frozen=True)
class Insertion:
    """A line that nobody said."""

    number: Natural
    before: Natural
    """The sentence that it stands before."""
    text: str
    ms: Time


# --- what an operator asks for ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Correct:
    """Show a sentence in other words."""

    sentence: Place
    words: Place
    text: LineText


@dataclass(frozen=True)
class Insert:
    """Put a line in, or change one that was put in."""

    before: Place
    text: LineText
    number: Place | None = None
    """Of the line that is changed; a new one without."""


@dataclass(frozen=True)
class Mute:
    """Take no words of the speaker, as in a break; or take them again."""

    muted: bool


TextChange = Correct | Insert
OperatorMessage = TextChange | Mute | SettingsChange | Pause | EndOfStream
_OWN: Tagged[TextChange | Mute] = Tagged({"correct": Correct, "insert": Insert, "mute": Mute})
MUTED = "muted"
"""Kind of the note that says from where on no words are taken (`on`), and from where on they are again (`off`)."""
_STREAM = ("settings", "pause", "end")
_KINDS = (*_OWN.kinds, *_STREAM)


def parse_operator(data: str | bytes) -> OperatorMessage:
    """What an operator asks for: a change of the text, or what a speaker may say too, without a number."""
    try:
        found = read_json(data)
        kind = found.get("type")
        if "type" in found and kind not in _KINDS:
            raise MismatchError("type", kind, one_of(*_KINDS).expected)
        if kind not in _STREAM:
            return _OWN.from_json(found)
        _check_glossary(found.get("glossary"))
    except MismatchError as error:
        raise ProtocolError("message", error.without_text()) from None
    except InputError as error:
        raise ProtocolError("message", str(error)) from None
    message = parse_client(write_json({**found, "seq": 1}))
    assert isinstance(message, SettingsChange | Pause | EndOfStream)
    return message


def _check_glossary(table: Any) -> None:
    """Whoever uploads a table is told the line that is wrong."""
    if isinstance(table, str):
        parse_glossary(table)
