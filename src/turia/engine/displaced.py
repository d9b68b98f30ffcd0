"""Words that a glossary has displaced, so that they do not come after all.

Where a term takes the place of the model's own word, the model may still want to say its own: *The Board of the
Committee* for *Der Ausschuss*. So that word is remembered. It is not written right behind the term, nor later in the
sentence where the model looks at the term again; also not behind small words such as `of the`. Where the model looks at
another word of the source, it may be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turia.engine.backend import DecodeRequest, LookRequest, Steps
from turia.engine.terms import FORCED, Floats, Pieces, bare
from turia.segmenter.online import is_words
from turia.text.subwords import Subwords
from turia.text.symbols import STOPPING_IDS

if TYPE_CHECKING:
    from turia.engine.backend import Logits
    from turia.engine.steering import ScoredRow
    from turia.engine.writer import Writer

_TRIES = 4
"""Words that are taken from the model in one place: with and without a capital, and behind small words."""
_SMALL_WORDS = 2
"""That may stand before a word which is not to come."""
_PIECES = 6
"""Of the small words and the word behind them."""


class _Note(NamedTuple):
    word: str
    """The model's own, bare."""
    places: tuple[int, ...]
    """Of the term in the source."""
    target: tuple[str, ...]
    """The translation of the term, bare: what was to be written in place of the word."""


class _Displaced(NamedTuple):
    """A word that was displaced, as a row sees it."""

    places: set[int]
    is_near: bool
    """Whether the term stands right before the row."""


class DisplacedWords:
    """The words that were displaced in one sentence, in every hypothesis that was looked at."""

    def __init__(self) -> None:
        self._notes: dict[Pieces, _Note] = {}

    def __bool__(self) -> bool:
        return bool(self._notes)

    def note(self, written: Sequence[int], word: str, places: Sequence[int], target: Sequence[str]) -> None:
        """Behind `written`, a term's translation is likelier than this word of the model's own."""
        self._notes[tuple(written)] = _Note(word, tuple(places), tuple(target))

    def forget(self, written: Sequence[int]) -> None:
        """Behind `written`, the model says the same as the glossary by now, as it has heard more."""
        self._notes.pop(tuple(written), None)

    def of(self, written: Sequence[int], subwords: Subwords) -> dict[str, _Displaced]:
        """What was displaced in `written`."""
        found: dict[str, _Displaced] = {}
        for begin, note in self._within(written):
            words = [bare(word) for word in subwords.decode_words(list(written[begin:]))]
            if words[:1] == [note.target[0]]:
                before = found.get(note.word, _Displaced(set(), False))
                is_near = before.is_near or len(words) <= len(note.target)
                found[note.word] = _Displaced(before.places | set(note.places), is_near)
        return found

    def to_json(self, written: Sequence[int]) -> list[list[Any]]:
        """Of `written` alone: other hypotheses are looked at anew."""
        return [[begin, note.word, list(note.places), list(note.target)] for begin, note in self._within(written)]

    def read_json(self, data: Sequence[Any], written: Sequence[int]) -> None:
        """Takes what `to_json` gave for the same `written`. A TypeError or a ValueError if that cannot be."""
        for begin, word, places, target in data:
            numbers = all(type(number) is int and number >= 0 for number in [begin, *places])
            if not numbers or begin >= len(written) or not target or not is_words([word, *target]):
                raise ValueError("words that a glossary has displaced")
            self.note(written[:begin], word, places, target)

    def _within(self, written: Sequence[int]) -> list[tuple[int, _Note]]:
        return [
            (len(before), note)
            for before, note in self._notes.items()
            if len(before) < len(written) and tuple(written[: len(before)]) == before
        ]


def first_word(pieces: Sequence[int], subwords: Subwords) -> str:
    """The first word of these pieces, bare."""
    words = subwords.decode_words(list(pieces))
    return bare(words[0]) if words else ""


def without_displaced(writer: Writer, row: ScoredRow, scores: Logits) -> Steps[Logits]:
    """The scores of a row, in which nothing likely leads to a word that was displaced. Those given stay as they are."""
    terms, subwords = writer.terms, writer.model.target_subwords
    assert terms is not None
    written = [*writer.target.ids, *row.pieces]
    displaced = writer.displaced.of(written, subwords)
    if not displaced or not terms.is_between(written, row.logits):
        return scores
    begins = {piece for word in displaced for piece in _first_pieces(word, subwords)}
    allowed, looked = np.where(writer.forbidden([]), -np.inf, scores), set[int]()
    for _ in range(_TRIES + writer.settings.beam):
        likely = np.argsort(-allowed)[: writer.settings.beam]
        # A beam follows more than the best piece. Behind small words it is enough to look at the best.
        piece = next((int(one) for one in likely if int(one) in begins - looked), int(likely[0]))
        if piece in looked or piece in STOPPING_IDS or not (terms.is_small(piece) or piece in begins):
            break
        looked.add(piece)
        word, attention = yield from _ahead(writer, row, piece)
        if word in displaced and (displaced[word].is_near or _is_on(attention, displaced[word].places)):
            scores = scores.copy()
            scores[piece] -= FORCED
            allowed[piece] -= FORCED
    return scores


def _first_pieces(word: str, subwords: Subwords) -> set[int]:
    return {subwords.encode_word(spelling)[0] for spelling in (word, word.capitalize(), word + ",", word + ".")}


def _ahead(writer: Writer, row: ScoredRow, first: int) -> Steps[tuple[str, Floats | None]]:
    """The first word that is not small, if the model goes on with the piece `first`; and, where it shows it, what it
    looks at before it writes that word."""
    terms, subwords = writer.terms, writer.model.target_subwords
    assert terms is not None
    memory, limit = row.request.memory, row.request.limit[-1:]
    state, best, small = row.state, first, 0
    look: DecodeRequest | None = None
    pieces: list[int] = []
    for count in range(_PIECES):
        if best in STOPPING_IDS or len(row.pieces) + count >= writer.positions_left():
            break
        if pieces and subwords.space_first and subwords.starts_word[best]:
            break
        request = DecodeRequest(state, memory, np.array([best]), limit)
        if not pieces and terms.is_small(best) and small < _SMALL_WORDS:
            small, look = small + 1, request
        else:
            pieces.append(best)
            if subwords.ends_word[best] and not subwords.space_first:
                break
        ((state, logits),) = yield [request]
        best = int(np.argmax(logits))
    word = first_word(pieces, subwords)
    attention = yield from _attention(writer, row, look)
    return word, attention


def _attention(writer: Writer, row: ScoredRow, request: DecodeRequest | None) -> Steps[Floats | None]:
    """On each source word: of the row itself, or of the last one of a request."""
    if request is None and row.attention is not None:
        found = row.attention
    elif not writer.model.backend.can_look:
        return None
    else:
        one = row.request if request is None else request
        (looks,) = yield [LookRequest(one.state, one.memory, one.ids, one.limit)]
        found = looks.attention[:, :, -1]
    return writer.by_source_word(writer.model.attention.of(found))


def _is_on(attention: Floats | None, places: set[int]) -> bool:
    """Whether attention is on these words of the source; so it is if nothing is known of it."""
    return attention is None or not attention.sum() > 0 or int(attention.argmax()) in places
