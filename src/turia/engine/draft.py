"""Drafts: what could follow what is committed, for policies that look before they write.

A draft is made at most READs. The greedy search does not decode the one before again: its pieces are fed as forced rows
in one call, kept as far as they are still what the model would write, and continued from there. Where the backend
cannot look at several rows at once, drafts are decoded piece by piece.

Most policies keep the words before the first one that they do not like (`LookingPolicy.stops`). For them a draft ends
with that word. A beam does not search again where such a policy would keep nothing of the draft before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from turia.engine.backend import (
    DecodeRequest,
    DecoderState,
    DraftRules,
    EncoderState,
    Logits,
    LookRequest,
    Looks,
    Searched,
    SearchRequest,
    Steps,
)
from turia.engine.beam import PLANNED_PER_WORD, BeamSearch, Hypothesis
from turia.engine.choosing import log_probabilities
from turia.engine.settings import LONGEST_WORD
from turia.engine.steering import ScoredRow, steer
from turia.policy.base import Draft, DraftWord, LookingPolicy, Situation
from turia.text.symbols import CLOSING_IDS

if TYPE_CHECKING:
    from turia.engine.writer import Writer

DRAFTS_VERSION = 2
"""Raised when a beam's drafts are others. 2: they end where the policy stops."""
Floats = npt.NDArray[np.float32]


@dataclass
class Drafting:
    """What the drafts of a sentence leave behind: with it, a restored stream makes the very calls again that the saved
    one made, and so has the same states to the last bit."""

    guess: list[int] = field(default_factory=list)
    """Pieces of the newest draft that are not committed."""
    margins: list[float] = field(default_factory=list)
    """How much less likely each of them was than the likeliest piece there, as log-probability; 0 without a beam."""
    guesses: list[list[int]] = field(default_factory=list)
    """For each commit, the guess that was fed in the call before it."""
    encodings: list[int] = field(default_factory=list)
    """Source positions after each call of the encoder since the first commit."""

    def committed(self, fed: Sequence[int], pieces: int) -> None:
        """Notes that so many pieces of the guess are committed; `fed` were fed as the guess of the draft."""
        self.guesses.append(list(fed))
        del self.guess[:pieces], self.margins[:pieces]

    def to_json(self) -> dict[str, Any]:
        return {
            "guess": list(self.guess),
            "margins": list(self.margins),
            "guesses": [list(g) for g in self.guesses],
            "encodings": list(self.encodings),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Drafting:
        guess = list(data["guess"])
        margins = list(data.get("margins", [0.0] * len(guess)))
        return cls(guess, margins, [list(fed) for fed in data["guesses"]], list(data["encodings"]))


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


@dataclass(frozen=True)
class _Verified:
    """What is kept of the draft before, with what the model says of it now."""

    pieces: list[int]
    scores: list[float]
    margins: list[float]
    words: _WordCount
    rows: list[_Row]
    """Of `pieces`, and of the one after them."""
    last: DecoderState
    """Of all that was written and of `pieces`."""
    written: DecoderState
    """Of all that was written."""
    last_written: int
    """Its last piece."""
    fed: tuple[int, ...]

    def first(self, count: int, writer: Writer) -> _Verified:
        """The first `count` of the pieces, with what belongs to them."""
        words = _WordCount(writer)
        for piece in self.pieces[:count]:
            words.add(piece)
        return replace(
            self,
            pieces=self.pieces[:count],
            scores=self.scores[:count],
            margins=self.margins[:count],
            words=words,
            rows=self.rows[: count + 1],
            last=self.last.truncated(self.written.length + min(count, len(self.pieces))),
        )


def make_draft(writer: Writer, policy: LookingPolicy, at: Situation, most: int) -> Steps[Drafted]:
    """Up to `most` words that could follow what is written, from all that has been read. Commits nothing."""
    memory = yield from writer.read_all()
    drafter = _Drafter(writer, policy, at, memory, most)
    drafted = yield from (drafter.greedy() if writer.settings.beam == 1 else drafter.beam())
    return drafted


@dataclass(frozen=True)
class _Drafter:
    writer: Writer
    policy: LookingPolicy
    at: Situation
    memory: EncoderState
    most: int
    """Words."""

    def greedy(self) -> Steps[Drafted]:
        """The likeliest piece, one after the other (Eq. 1); those that were drafted before, all at once."""
        verified = yield from self._verify()
        words, pieces, scores = verified.words, verified.pieces, verified.scores
        rows, last = verified.rows, verified.last
        ended = False
        over = self._stopped(pieces, scores, rows) is not None
        while not over and not self._is_full(words, pieces):
            chances = yield from self._chances(rows[len(pieces)], last, words, pieces)
            piece = int(chances.argmax())
            if ended := piece in CLOSING_IDS:
                break
            pieces.append(piece)
            scores.append(float(chances[piece]))
            complete = words.complete
            words.add(piece)
            over = words.complete > complete and self._stopped(pieces, scores, rows) is not None
            if not over and not self._is_full(words, pieces):
                new, last = yield from self._look(last, [piece], [self.memory.length], 1)
                rows = [*rows, *new]
        return self._drafted(verified, pieces, scores, [0.0] * len(pieces), rows, ended)

    def beam(self) -> Steps[Drafted]:
        """The best hypothesis of a beam that begins after what it keeps of the draft before (decision 031)."""
        verified = yield from self._verify()
        stopped = self._stopped(verified.pieces, verified.scores, verified.rows)
        if stopped == 0:
            # Nothing would be written. If the search found another word, it finds it when this one no longer stands.
            return self._drafted(verified, verified.pieces, verified.scores, verified.margins, verified.rows, False)
        verified = verified.first(max(0, len(verified.fed) - self.writer.settings.lookahead), self.writer)
        rows, now, kept = verified.rows, self.memory.length, len(verified.pieces)
        # One word more than was enough for the draft before: the search may find another.
        words = self.most if stopped is None else min(self.most, stopped + 2)
        best = yield from self._searched(verified, words)
        pieces = [piece for piece in best.pieces if piece not in CLOSING_IDS]
        if self.policy.attention and len(pieces) > kept + 1:
            # Only now is it known which rows are to be looked at: one call for all of them.
            new = pieces[kept:-1]
            looked, _ = yield from self._look(verified.last, new, [now] * len(new), len(new))
            rows = [*rows, *looked]
        scores, margins = list(best.scores[: len(pieces)]), list(best.margins[: len(pieces)])
        return self._drafted(verified, pieces, scores, margins, rows, best.ended, whole=True)

    def _searched(self, verified: _Verified, words: int) -> Steps[Hypothesis]:
        """The verified pieces with their best continuation: so many words in all, or fewer and an end."""
        writer, now, most = self.writer, self.memory.length, self._most_pieces()
        start = Hypothesis(tuple(verified.pieces), tuple(verified.scores), tuple(verified.margins), verified.last, None)
        if not writer.drafts_at_once():
            logits = yield from self._steered(verified.rows[len(verified.pieces)], verified.last, verified.pieces)
            choose = writer.model.choose
            search = BeamSearch(writer, writer.settings.beam, self.memory, now, most, may_end=True, choose=choose)
            return (yield from search.draft(replace(start, logits=logits), words))
        # The last row is computed again, as a search begins with one.
        before = verified.last.length - 1
        request = SearchRequest(
            verified.last.truncated(before) if before else None,
            self.memory,
            np.array([[verified.last_written, *verified.pieces][-1]]),
            np.array([now]),
            writer.model.search_rules,
            writer.settings.beam,
            most - len(verified.pieces),
            complete=True,
            longest=LONGEST_WORD,
            draft=DraftRules(words - verified.words.complete, len(verified.words.begun), start.score),
        )
        found: Searched
        (found,) = yield [request]
        # Without a whole word, the one that was begun before the search is none either.
        kept = len(start.pieces) - (0 if found.pieces else len(verified.words.begun))
        return Hypothesis(
            (*start.pieces[:kept], *found.pieces),
            (*start.scores[:kept], *found.scores),
            (*start.margins[:kept], *found.margins),
            start.state,
            None,
        )

    def _verify(self) -> Steps[_Verified]:
        """Feeds the draft before in one call, and keeps its pieces as far as the model still prefers them as much as it
        did: the greedy search's while they are the likeliest, the beam's while they are as close to the likeliest."""
        writer, now = self.writer, self.memory.length
        before = writer.drafting
        guess = before.guess if writer.model.backend.can_look else []
        state, ids, limits = writer.unfed(self.memory, writer.target.ids)
        rows, last = yield from self._look(state, [*ids, *guess], [*limits, *[now] * len(guess)], 1 + len(guess))
        words, first = _WordCount(writer), last.length - len(guess)
        pieces: list[int] = []
        scores: list[float] = []
        for piece, margin, row in zip(guess, before.margins, rows, strict=False):
            chances = yield from self._chances(row, last.truncated(first + len(pieces)), words, pieces)
            likeliest = int(chances.argmax())
            still = piece == likeliest or (margin > 0 and chances[likeliest] - chances[piece] <= margin)
            if not still or self._is_full(words, pieces):
                break
            pieces.append(piece)
            scores.append(float(chances[piece]))
            words.add(piece)
        written = last.truncated(first)
        last = last.truncated(written.length + len(pieces))
        margins = before.margins[: len(pieces)]
        kept = rows[: len(pieces) + 1]
        return _Verified(pieces, scores, margins, words, kept, last, written, int(ids[-1]), tuple(guess))

    def _chances(
        self, row: _Row, state: DecoderState, words: _WordCount, pieces: Sequence[int]
    ) -> Steps[npt.NDArray[np.float32]]:
        """Of what follows `pieces`; `state` has the row."""
        logits = yield from self._steered(row, state, pieces)
        return log_probabilities(logits, self.writer.forbidden(words.begun, may_end=True))

    def _steered(self, row: _Row, state: DecoderState, pieces: Sequence[int]) -> Steps[Logits]:
        """The scores of what follows `pieces`, as a glossary wants them; the row was looked at, if it can be."""
        request = DecodeRequest(None, self.memory, np.zeros(0, dtype=np.int64), np.array([self.memory.length]))
        (steered,) = yield from steer(
            self.writer, [ScoredRow(tuple(pieces), request, state, row.logits, row.attention)]
        )
        return steered

    def _stopped(self, pieces: list[int], scores: list[float], rows: list[_Row]) -> int | None:
        """How many words the policy keeps, if it stops within the whole words of `pieces`."""
        if not self.policy.stops:
            return None
        draft = self._draft(pieces, scores, self._attention(rows, len(pieces)), ended=False)
        kept = self.policy.keep(self.at, draft, {})
        return kept if kept < len(draft.words) else None

    def _attention(self, rows: list[_Row], count: int) -> list[Floats | None]:
        return [row.attention for row in rows[:count]] if self.policy.attention else [None] * count

    def _is_full(self, words: _WordCount, pieces: list[int]) -> bool:
        return words.complete >= self.most or len(pieces) >= self._most_pieces()

    def _drafted(
        self,
        verified: _Verified,
        pieces: list[int],
        scores: list[float],
        margins: list[float],
        rows: list[_Row],
        ended: bool,
        whole: bool = False,
    ) -> Drafted:
        """`whole` as in `_draft`."""
        self.writer.drafting.guess, self.writer.drafting.margins = list(pieces), margins
        attention = self._attention(rows, len(pieces))
        return Drafted(self._draft(pieces, scores, attention, ended, whole), verified.written, verified.fed)

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
        chosen = self.writer.model.attention
        assert all(row is not None for row in rows)
        seen = [chosen.of(row, self.policy.layer) for row in rows if row is not None]
        return self.writer.by_source_word(seen[0] if len(seen) == 1 else np.mean(seen, axis=0))


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
