"""The scores of rows with the bonuses of a glossary (`terms`), for writer, beam and drafts.

Two things are asked of the model where a term is due. Its attention says whether the term's turn has come. And where a
bonus would make it write something else, it is let go on by itself for a few words: if the term comes by itself, there
is no bonus in this place. So `the European Central Bank` stays what it is, though attention is on the term at
`European` already, and a bonus only corrects what would be wrong without it. The word that it takes the place of is
remembered, so that it does not come after all (`displaced`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from turia.engine.backend import DecodeRequest, DecoderState, Logits, LookRequest, Steps
from turia.engine.displaced import first_word, without_displaced
from turia.engine.terms import Floats, Pieces, bare_target
from turia.text.glossary import Term
from turia.text.symbols import STOPPING_IDS

if TYPE_CHECKING:
    from turia.engine.writer import Writer

AHEAD = 3
"""Words that may come before a term which the model writes by itself. Chosen on a dev set (docs/terms.md)."""
_PIECES = 3
"""Of a word, at most, when the model goes on by itself."""


class ScoredRow(NamedTuple):
    """A row that the model has scored."""

    pieces: Pieces
    """After what is written, before the piece that is scored."""
    request: DecodeRequest
    """That the row was the last of; only its memory and the last limit, if the row was looked at."""
    state: DecoderState
    """With the row."""
    logits: Logits
    attention: Floats | None = None
    """[L, H, S] if the row was looked at."""


Missing = dict[Term, list[int]]


def steer(writer: Writer, rows: Sequence[ScoredRow]) -> Steps[list[Logits]]:
    """The scores of these rows with their bonuses."""
    found = [row.logits for row in rows]
    terms = writer.terms
    if terms is None:
        return found
    found = yield from _with_bonuses(writer, rows)
    if writer.displaced:
        for number, row in enumerate(rows):
            found[number] = yield from without_displaced(writer, row, found[number])
    return found


def _with_bonuses(writer: Writer, rows: Sequence[ScoredRow]) -> Steps[list[Logits]]:
    """The scores of these rows with the bonuses of terms that are due. What these displace is noted."""
    found, terms = [row.logits for row in rows], writer.terms
    assert terms is not None
    written = [[*writer.target.ids, *row.pieces] for row in rows]
    for one in written:
        writer.displaced.forget(one)
    missing: dict[int, Missing] = {}
    for number in range(len(rows)):
        if due := terms.missing(writer.heard, writer.closing is not None, written[number]):
            missing[number] = due
    if not missing:
        return found
    attention = yield from _attention(writer, rows, missing)
    for number, due in missing.items():
        found[number] = terms.steered(rows[number].logits, due, written[number], attention.get(number))
    changed = [
        number
        for number in missing
        if terms.is_between(written[number], rows[number].logits)
        and int(np.argmax(found[number])) != int(np.argmax(rows[number].logits))
    ]
    ahead = yield from _own_pieces(writer, {number: rows[number] for number in changed}, missing)
    for number, pieces in ahead.items():
        before = written[number]
        left = {
            term: places
            for term, places in missing[number].items()
            if not terms.writes(term, before, [*before, *pieces])
        }
        if len(left) < len(missing[number]):
            found[number] = terms.steered(rows[number].logits, left, before, attention.get(number))
        begun = terms.begun(left, before, int(np.argmax(found[number])), attention.get(number))
        _note_displaced(writer, before, begun, pieces)
    return found


def _note_displaced(writer: Writer, before: Sequence[int], begun: Missing, own: Sequence[int]) -> None:
    """If a term is `begun` in place of the model's own word: the first of the pieces `own`."""
    word = first_word(own, writer.model.target_subwords)
    for term, places in begun.items():
        # A word of the translation itself may come in its turn.
        if word and word not in bare_target(term):
            writer.displaced.note(before, word, places, bare_target(term))


def _attention(writer: Writer, rows: Sequence[ScoredRow], missing: Mapping[int, Missing]) -> Steps[dict[int, Floats]]:
    """On each source word, of rows where a term may begin, if the model shows it."""
    terms = writer.terms
    assert terms is not None
    known = {number: row.attention for number in missing if (row := rows[number]).attention is not None}
    asked = [
        number
        for number in missing
        if number not in known
        and writer.model.backend.can_look
        and terms.is_turn([*writer.target.ids, *rows[number].pieces], rows[number].logits)
    ]
    if asked:
        requests = [rows[number].request for number in asked]
        looks = yield [LookRequest(one.state, one.memory, one.ids, one.limit) for one in requests]
        known |= {number: look.attention[:, :, -1] for number, look in zip(asked, looks, strict=True)}
    return {number: writer.by_source_word(writer.model.attention.of(one)) for number, one in known.items()}


def _own_pieces(
    writer: Writer, rows: Mapping[int, ScoredRow], missing: Mapping[int, Missing]
) -> Steps[dict[int, list[int]]]:
    """What the model writes by itself behind these rows: as many words as it takes to come to a term and write it."""
    subwords = writer.model.target_subwords
    over = subwords.starts_word if subwords.space_first else subwords.ends_word
    pieces: dict[int, list[int]] = {number: [] for number in rows}
    states = {number: row.state for number, row in rows.items()}
    best = {number: int(np.argmax(row.logits)) for number, row in rows.items()}
    most = {number: AHEAD + max(len(term.target) for term in missing[number]) for number in rows}
    # With the space first, a word is over when the next one begins.
    extra = int(subwords.space_first)

    def goes_on(number: int) -> bool:
        words, length = int(over[pieces[number]].sum()), len(pieces[number])
        return (
            best[number] not in STOPPING_IDS
            and words < most[number] + extra
            and length < _PIECES * most[number]
            and len(rows[number].pieces) + length < writer.positions_left()
        )

    while going := [number for number in rows if goes_on(number)]:
        for number in going:
            pieces[number].append(best[number])
        requests = [
            DecodeRequest(
                states[number], rows[number].request.memory, np.array([best[number]]), rows[number].request.limit[-1:]
            )
            for number in going
        ]
        results = yield requests
        for number, (state, logits) in zip(going, results, strict=True):
            states[number], best[number] = state, int(np.argmax(logits))
    return pieces
