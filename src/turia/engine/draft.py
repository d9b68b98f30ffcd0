"""Drafts: what could follow what is committed, for policies that look before they write.

A draft is made at most READs. The greedy search does not decode the one before again: its pieces are fed as forced rows
in one call, kept as far as they are still what the model would write, and continued from there. Where the backend
cannot look at several rows at once, drafts are decoded piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from turia.engine.backend import DecodeRequest, DecoderState, EncoderState, Logits, LookRequest, Looks, Steps
from turia.engine.beam import PLANNED_PER_WORD, BeamSearch, Hypothesis, log_probabilities
from turia.engine.settings import LONGEST_WORD
from turia.policy.base import Draft, DraftWord, LookingPolicy
from turia.text.symbols import CLOSING_IDS

if TYPE_CHECKING:
    from turia.engine.writer import Writer

Floats = npt.NDArray[np.float32]


@dataclass
class Drafting:
    """What the drafts of a sentence leave behind: with it, a restored stream makes the very calls again that the saved
    one made, and so has the same states to the last bit."""

    guess: list[int] = field(default_factory=list)
    """Pieces of the newest draft that are not committed."""
    guesses: list[list[int]] = field(default_factory=list)
    """For each commit, the guess that was fed in the call before it."""
    encodings: list[int] = field(default_factory=list)
    """Source positions after each call of the encoder since the first commit."""

    def committed(self, fed: Sequence[int], pieces: int) -> None:
        """So many pieces of the guess are committed; `fed` were fed as the guess of the draft."""
        self.guesses.append(list(fed))
        del self.guess[:pieces]

    def to_json(self) -> dict[str, Any]:
        return {
            "guess": list(self.guess),
            "guesses": [list(g) for g in self.guesses],
            "encodings": list(self.encodings),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Drafting:
        return cls(list(data["guess"]), [list(guess) for guess in data["guesses"]], list(data["encodings"]))


@dataclass(frozen=True)
class Drafted:
    """A draft, and what the writer needs to commit words of it."""

    draft: Draft
    state: DecoderState
    """Of all that was written before the draft."""
    guess: tuple[int, ...]
    """What was fed together with that."""


class _Row(NamedTuple):
    """What the model says of the next piece."""

    logits: Logits
    attention: Floats | None
    """[L, H, S]"""


def make_draft(writer: Writer, policy: LookingPolicy, most: int) -> Steps[Drafted]:
    """Up to `most` words that could follow what is written, from all that has been read. Commits nothing."""
    memory = yield from writer.read_all()
    drafter = _Drafter(writer, policy, memory, most)
    drafted = yield from (drafter.greedy() if writer.settings.beam == 1 else drafter.beam())
    return drafted


@dataclass(frozen=True)
class _Drafter:
    writer: Writer
    policy: LookingPolicy
    memory: EncoderState
    most: int
    """Words."""

    def greedy(self) -> Steps[Drafted]:
        """The likeliest piece, one after the other (Eq. 1); those that were drafted before, all at once."""
        writer, now = self.writer, self.memory.length
        guess = writer.drafting.guess if writer.model.backend.can_look else []
        state, ids, limits = writer.unfed(self.memory, writer.target.ids)
        looked = yield from self._look(state, [*ids, *guess], [*limits, *[now] * len(guess)], 1 + len(guess))
        rows, last = looked
        written = last.truncated(last.length - len(guess))
        fed, agreed = tuple(guess), 0
        words = _WordCount(writer)
        pieces: list[int] = []
        scores: list[float] = []
        attention: list[Floats | None] = []
        while True:
            row = rows[len(pieces)]
            chances = log_probabilities(row.logits, writer.forbidden(words.begun, may_end=True))
            piece = int(chances.argmax())
            if piece in CLOSING_IDS:
                break
            pieces.append(piece)
            scores.append(float(chances[piece]))
            attention.append(row.attention)
            words.add(piece)
            if words.complete >= self.most or len(pieces) >= self._most_pieces():
                break
            if agreed < len(guess) and guess[agreed] == piece:
                agreed += 1
            else:
                if agreed < len(guess):
                    last, rows, guess = last.truncated(written.length + agreed), rows[: len(pieces)], []
                agreed = len(guess)
                new, last = yield from self._look(last, [piece], [now], 1)
                rows = [*rows, *new]
        writer.drafting.guess = pieces
        ended = piece in CLOSING_IDS
        return Drafted(self._draft(pieces, scores, attention, ended), written, fed)

    def beam(self) -> Steps[Drafted]:
        """The best hypothesis of a beam; for a policy that looks at attention, its rows are looked at in one call."""
        writer, now = self.writer, self.memory.length
        state, ids, limits = writer.unfed(self.memory, writer.target.ids)
        rows, written = yield from self._look(state, list(ids), list(limits), 1)
        ending = writer.beam_rules(may_end=True)
        search = BeamSearch(writer, writer.settings.beam, self.memory, now, self._most_pieces(), ending, drafts=True)
        best = yield from search.best(Hypothesis((), (), written, rows[-1].logits))
        pieces = [piece for piece in best.pieces if piece not in CLOSING_IDS]
        if self.policy.attention and len(pieces) > 1:
            further, _ = yield from self._look(written, pieces[:-1], [now] * (len(pieces) - 1), len(pieces) - 1)
            rows = [*rows, *further]
        attention = [row.attention for row in rows] if self.policy.attention else [None] * len(pieces)
        scores = list(best.scores[: len(pieces)])
        draft = self._draft(pieces, scores, attention[: len(pieces)], best.ended, whole=True)
        return Drafted(draft, written, ())

    def _look(
        self, state: DecoderState | None, ids: list[int], limits: list[int], rows: int
    ) -> Steps[tuple[list[_Row], DecoderState]]:
        """The last `rows` rows of a call, and the state after it."""
        arrays = np.array(ids, dtype=np.int64), np.array(limits, dtype=np.int64)
        if not self.writer.model.backend.can_look:
            assert rows == 1
            ((after, logits),) = yield [DecodeRequest(state, self.memory, *arrays)]
            return [_Row(logits, None)], after
        (looks,) = yield [LookRequest(state, self.memory, *arrays)]
        found: Looks = looks
        return [_Row(found.logits[i], found.attention[:, :, i]) for i in range(-rows, 0)], found.state

    def _most_pieces(self) -> int:
        return max(1, min(PLANNED_PER_WORD * self.most, self.writer.positions_left() - LONGEST_WORD))

    def _draft(
        self,
        pieces: list[int],
        scores: list[float],
        attention: Sequence[Floats | None],
        ended: bool,
        whole: bool = False,
    ) -> Draft:
        """`whole` if the last word is over in any case."""
        words = []
        for place in self._words(pieces, ended or whole):
            words.append(
                DraftWord(
                    self.writer.spell(pieces[place]),
                    tuple(pieces[place]),
                    scores[place.start],
                    sum(scores[place]),
                    self._on_source_words(attention[place]),
                )
            )
        return Draft(tuple(words[: self.most]), ended and len(words) <= self.most)

    def _words(self, pieces: list[int], over: bool) -> Iterator[slice]:
        """Where the whole words lie; the last one is whole if it is `over`."""
        subwords = self.writer.model.target_subwords
        begin = 0
        for place, piece in enumerate(pieces):
            if subwords.starts_word[piece] and place > begin:
                yield slice(begin, place)
                begin = place
            if subwords.ends_word[piece]:
                yield slice(begin, place + 1)
                begin = place + 1
        if subwords.space_first and over and begin < len(pieces):
            yield slice(begin, len(pieces))

    def _on_source_words(self, rows: Sequence[Floats | None]) -> Floats | None:
        """[words] mean over a word's pieces of their attention to each source word of the sentence."""
        if not self.policy.attention:
            return None
        assert all(row is not None for row in rows)
        chosen = self.writer.model.attention
        layer = chosen.layer if self.policy.layer is None else self.policy.layer
        mean = np.mean([row for row in rows if row is not None], axis=0)[layer]
        columns = mean.mean(axis=0) if chosen.head is None else mean[chosen.head]
        return self.writer.by_source_word(columns)


class _WordCount:
    """Counts the words that pieces make, and knows the one that is begun."""

    def __init__(self, writer: Writer) -> None:
        self._subwords = writer.model.target_subwords
        self.begun: list[int] = []
        self.complete = 0

    def add(self, piece: int) -> None:
        if self._subwords.starts_word[piece] and self.begun:
            self.complete, self.begun = self.complete + 1, []
        self.begun.append(piece)
        if self._subwords.ends_word[piece]:
            self.complete, self.begun = self.complete + 1, []
