"""The recogniser's unstable tail: words that it may still revise, behind the final ones.

    stream.push("meine damen und")                  final words, as ever
    partial = stream.push_partial("herren ich")     what the recogniser hears after them, for now
    partial.records                                 words that this lets the policy commit now, not later
    partial.tentative                               what to show in grey: the tail, and what would be written for it
    stream.push_partial("herr rennich")             a revision; the tail before it is forgotten
    stream.push("herren")                           final words, as if there had been no partials

**The tail decides when a word is written, never which.** A word is committed ahead of its time if two searches agree
on it: a *ghost*, a copy of the stream that reads the tail as if it were final, has committed it; and the final words
alone give it too. Then the word goes out, and is *owed*: the stream goes on with the final words as if it had not been
written, and when its time comes, the word that would be written is the one that went out already. So the states of the
model, what its rows have seen, the sentence ends and the policy's memory are those of the final words.

Where the recogniser revised the tail, the final words may lead to another word in that place. What went out stays, and
the stream goes on behind it. Decision 026 says what follows from this, and why nothing stronger can hold.

A ghost that read what then became final has done the stream's work: the stream takes it over (`Stream.push_steps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from turia.engine.backend import Steps
from turia.errors import InputError
from turia.segmenter.online import is_words
from turia.stream.trace import Record, Write

if TYPE_CHECKING:
    from turia.engine.stream import Stream

LONGEST_TAIL = 40
"""Words of a tail that are looked at: more than any speaker says before a recogniser makes up its mind."""


@dataclass(frozen=True)
class Tentative:
    """What may still change: for the eye, never for a transcript or a trace."""

    source: tuple[str, ...] = ()
    """The tail."""
    target: tuple[str, ...] = ()
    """What would be written next if the tail became final."""


@dataclass(frozen=True)
class Partial:
    """What a partial hypothesis leads to."""

    records: list[Record]
    """Words that are committed because of it."""
    tentative: Tentative


class OwedWord(NamedTuple):
    """A word that went out before the final words had come to it."""

    text: str
    pieces: tuple[int, ...]

    @classmethod
    def from_json(cls, data: Any) -> OwedWord:
        """What JSON makes of one; anything else is a ValueError."""
        text, pieces = data
        if not is_words([text]) or not pieces or not all(type(piece) is int and piece >= 0 for piece in pieces):
            raise ValueError("expected words that went out ahead, and their pieces")
        return cls(text, tuple(pieces))


class Ghost(NamedTuple):
    """A copy of the stream that has read the tail up to some word of it."""

    word: str
    stream: Stream
    records: tuple[Record, ...]
    """What this word of the tail led to."""
    written: tuple[Write, ...]
    """What all words of the tail up to this one led to."""


def partial_steps(stream: Stream, text: str) -> Steps[Partial]:
    """`Stream.push_partial` for a driver of many streams."""
    tail = tuple(text.split()[:LONGEST_TAIL])
    yield from _follow(stream, tail)
    ghosts = stream.ghosts
    # What has been committed ahead since the ghosts were made is in their words too.
    written = [write for write in (ghosts[-1].written if ghosts else ()) if write.index >= stream.written]
    coming = list(takewhile(lambda write: write.sentence == stream.sentence, written))
    agreed = (yield from agreed_words(stream, [write.word for write in coming])) if coming else []
    records = stream.commit_ahead(agreed, (write.reason for write in coming))
    return Partial(records, Tentative(tail, tuple(write.word for write in written[len(agreed) :])))


def _follow(stream: Stream, tail: Sequence[str]) -> Steps[None]:
    """Makes the stream's ghosts those of `tail`; they are kept as far as the tail is the one before."""
    ghosts = stream.ghosts
    same = sum(1 for _ in takewhile(lambda pair: pair[0].word == pair[1], zip(ghosts, tail, strict=False)))
    del ghosts[same:]
    for word in tail[same:]:
        ghost = (ghosts[-1].stream if ghosts else stream).fork()
        try:
            records = yield from ghost.push_steps(word)
        except InputError:
            # More words than the given sentences have: such a tail cannot become final.
            return
        before = ghosts[-1].written if ghosts else ()
        written = (record for record in records if isinstance(record, Write))
        ghosts.append(Ghost(word, ghost, tuple(records), (*before, *written)))


def agreed_words(stream: Stream, coming: Sequence[str]) -> Steps[list[OwedWord]]:
    """As many of the words `coming` as the final words alone give too, in a row."""
    ready = yield from stream.fork().read_final()
    agreed: list[OwedWord] = []
    if ready is None:
        return agreed
    writer, most = ready
    for expected in coming[:most]:
        if not writer.has_room() or (yield from writer.write_word()) != expected:
            break
        agreed.append(OwedWord(expected, tuple(writer.target.ids[-writer.target.pieces[-1] :])))
    return agreed
