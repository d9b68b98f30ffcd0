"""The translation of one sentence, word by word: greedy (Eq. 1), or a beam that looks ahead and commits one word.

Words are written when the stream says so; between two words the source may have grown. What the model has computed for
the sentence, and what each row of the decoder sees, is in rows.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from turia.engine.backend import DecodeRequest, DecoderState, EncoderState, Logits, Searched, SearchRequest, Steps
from turia.engine.beam import PLANNED_PER_WORD, BeamSearch, Ending, Hypothesis
from turia.engine.choosing import best_allowed
from turia.engine.displaced import DisplacedWords
from turia.engine.draft import Drafted
from turia.engine.names import MOST_SAID, SpokenNames
from turia.engine.rows import SentenceRows
from turia.engine.settings import LONGEST_WORD
from turia.engine.steering import ScoredRow, steer
from turia.engine.terms import SentenceTerms, term_pieces
from turia.policy.guards import length_limit
from turia.text.choice import Flags
from turia.text.subwords import WordJoiner
from turia.text.symbols import STOPPING_IDS, UNK_ID

SEARCH_VERSION = 3
"""Raised when the same model writes other words: what was translated before is not the same any more."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class SpelledWord(NamedTuple):
    """A target word and its pieces."""

    text: str
    pieces: tuple[int, ...]


@dataclass
class Writer(SentenceRows):
    """Writes the translation of one sentence."""

    plan: list[int] = field(default_factory=list)
    """Pieces that the beam has decided on after the sentence was complete, not yet written."""
    heard: list[str] = field(default_factory=list)
    """The source words as they were said, for a glossary and for names; none without either."""
    displaced: DisplacedWords = field(default_factory=DisplacedWords)
    """Words that terms of a glossary stand in place of."""

    def __post_init__(self) -> None:
        super().__post_init__()
        glossary = self.settings.glossary
        subwords = self.model.target_subwords
        self.terms = None if glossary is None else SentenceTerms(term_pieces(glossary, subwords))

    def read(self, word: str, pieces: tuple[int, ...]) -> None:
        """Takes the next source word and its pieces."""
        self.source.add(pieces)
        if self.hears:
            self.heard.append(word)
        if self.terms is None:
            del self.heard[:-MOST_SAID]

    @property
    def hears(self) -> bool:
        """Whether it has use for the words as they were said."""
        return self.terms is not None or self.names is not None

    @property
    def names(self) -> SpokenNames | None:
        """What knows misspelt names."""
        return self.model.names

    def steer(self, rows: Sequence[ScoredRow]) -> Steps[list[Logits]]:
        """The scores of the rows, with the bonuses of the glossary."""
        return steer(self, rows)

    def write_word(self) -> Steps[str | None]:
        """The next word, or None where the sentence ends."""
        pieces = yield from (self._greedy() if self.settings.beam == 1 else self._beam())
        if not pieces:
            return None
        before = list(self.target.ids)
        self.target.add(pieces)
        self.reads.append(self.source.words)
        word = self.spell(pieces)
        named = self.as_said(word, before)
        if named is None:
            return word
        self.insist(named.pieces, instead=True)
        return named.text

    def as_said(self, word: str, before: Sequence[int]) -> SpelledWord | None:
        """The name that was said and that this word misspells, behind the pieces `before`; None if it is none."""
        names, subwords = self.names, self.model.target_subwords
        if names is None or not names.is_doubtful(word):
            return None
        if self.terms is not None and self.terms.has(word):
            return None
        text = names.instead_of(word, subwords.decode_words(list(before)), self.heard)
        pieces = () if text is None else tuple(subwords.encode_word(text))
        if text is None or UNK_ID in pieces or len(pieces) >= LONGEST_WORD:
            return None
        return SpelledWord(text, pieces)

    def commit(self, draft: Drafted, words: int) -> None:
        """Writes the first words of a draft, at least one."""
        assert self._encoded is not None
        # The row that predicts the first word of the draft saw what it will be known to have seen.
        self._decoded = draft.state
        chosen = draft.draft.words[:words]
        self.drafting.committed(draft.guess, sum(len(word.pieces) for word in chosen))
        for word in chosen:
            self.target.add(word.pieces)
            self.row_limits += [self._encoded.length] * len(word.pieces)
            self.reads.append(self.source.words)

    def insist(self, pieces: Sequence[int], instead: bool) -> None:
        """Writes this word in place of the last one (`instead`), or where the sentence would have ended."""
        assert self._encoded is not None
        if instead:
            last = self.target.pieces.pop()
            del self.target.ids[-last:], self.row_limits[-last:], self.reads[-1]
        self.plan, self._peeked = [], None
        fed = len(self._prefix) + len(self.target.ids)
        if self._decoded is not None and self._decoded.length > fed:
            self._decoded = self._decoded.truncated(fed)
        self.target.add(list(pieces))
        self.row_limits += [self._encoded.length] * len(pieces)
        self.reads.append(self.source.words)

    def reads_as_history(self) -> list[int]:
        """The `reads` of this sentence, as the history keeps them."""
        return self.reads

    def spell(self, pieces: Sequence[int]) -> str:
        """The word of these pieces."""
        joiner = WordJoiner(self.model.target_subwords)
        words = [joiner.push(piece) for piece in pieces]
        # Bytes that spell no character leave a mark rather than an empty word.
        return words[-1] or joiner.flush() or REPLACEMENT

    def has_room(self) -> bool:
        """Whether another word fits into the model's positions."""
        return len(self._prefix) + len(self.target.ids) + LONGEST_WORD < self.model.max_positions

    def fits(self) -> bool:
        """Whether what is written fits into the model's positions. It does if `has_room` was asked before each word."""
        return len(self._prefix) + len(self.target.ids) < self.model.max_positions

    # --- search -------------------------------------------------------------------------------------------------------

    def _scores(self, word_begun: list[int]) -> Steps[tuple[DecoderState, Logits, int]]:
        """Scores of the piece after all that is written and `word_begun`; also the state, and what the row sees."""
        memory = yield from self.read_all()
        peeked, self._peeked = self._peeked, None
        if peeked is not None and not word_begun and peeked.request.memory is memory:
            request, self._decoded, logits = peeked
        else:
            request = DecodeRequest(*self._unfed_with(memory, word_begun))
            ((self._decoded, logits),) = yield [request]
        (steered,) = yield from self.steer([ScoredRow(tuple(word_begun), request, self._decoded, logits)])
        return self._decoded, steered, memory.length

    def _greedy(self) -> Steps[list[int]]:
        """The pieces of the best next word, one after the other (Eq. 1); none where the sentence ends."""
        subwords = self.model.target_subwords
        pieces: list[int] = []
        while not pieces or not subwords.ends_word[pieces[-1]]:
            _, logits, now = yield from self._scores(pieces)
            piece = best_allowed(logits, self.forbidden(pieces))
            if pieces and (piece in STOPPING_IDS or subwords.starts_word[piece]):
                # Only with the space first: the word is over. The row that shows it will look again in its time, when
                # more may have been read.
                assert self._decoded is not None
                self._decoded = self._decoded.truncated(self._decoded.length - 1)
                break
            if piece in STOPPING_IDS:
                return []
            pieces.append(piece)
            self.row_limits.append(now)
        return pieces

    def forbidden(self, word_begun: list[int], may_end: bool = False) -> Flags:
        """Pieces that may not follow `word_begun`. The sentence `may_end` in any case once its source is complete."""
        tables = self.model.forbidden
        if len(word_begun) >= LONGEST_WORD - 1:
            subwords = self.model.target_subwords
            return ~(subwords.starts_word if subwords.space_first else subwords.ends_word)
        if word_begun:
            return tables.in_word
        return tables.word_start_or_end if may_end or self.closing is not None else tables.word_start

    # --- beam ---------------------------------------------------------------------------------------------------

    def _beam(self) -> Steps[list[int]]:
        """The first word of the best continuation; with the sentence complete, the best whole rest is planned once."""
        complete = self.closing is not None
        memory: EncoderState
        if not self.plan and self.searches_at_once():
            memory = yield from self.read_all()
            most = self._most_pieces() if complete else self.settings.lookahead
            rows, rules = self._unfed_with(memory, []), self.model.search_rules
            found: Sequence[Searched]
            found = yield [SearchRequest(*rows, rules, self.settings.beam, most, complete, LONGEST_WORD)]
            self._decoded, self.plan = found[0].state, found[0].pieces
        elif not self.plan:
            state, logits, now = yield from self._scores([])
            memory = yield from self.read_all()
            most = self._most_pieces() if complete else self.settings.lookahead
            ending = self.beam_rules(complete)
            search = BeamSearch(
                self,
                self.settings.beam,
                memory,
                now,
                most,
                ending,
                choose=self.model.choose,
                one_word=not complete,
            )
            best = yield from search.best(Hypothesis((), (), (), state, logits))
            self.plan = list(best.pieces)
        # A plan has whole words, also where the end of the last one does not show.
        length = next(iter(self.word_ends(self.plan)), len(self.plan))
        word, self.plan = self.plan[:length], self.plan[length:] if complete else []
        if word[-1] in STOPPING_IDS:
            return []
        assert self._encoded is not None
        self.row_limits += [self._encoded.length] * len(word)
        return word

    def searches_at_once(self) -> bool:
        """Whether the next word is one request: the backend can search, and nothing interferes with the scores."""
        ours = self.closing is None or self.model.search == "turia"
        return self._can_search and ours and self._peeked is None

    def drafts_at_once(self) -> bool:
        """Whether a draft is one request, likewise."""
        return self._can_search and not self.model.target_subwords.space_first

    @property
    def _can_search(self) -> bool:
        return self.model.searches and hasattr(self.model.backend, "search") and self.terms is None

    def _most_pieces(self) -> int:
        """What a plan may have, with or without an end: positions left, and about the words that a guard lets by."""
        words = max(1, length_limit(self.source.words, self.settings.gamma) - self.target.words)
        return min(self.positions_left(), PLANNED_PER_WORD * words)

    def positions_left(self) -> int:
        """Positions that the model has left for more target pieces."""
        return self.model.max_positions - len(self._prefix) - len(self.target.ids) - 1

    def word_ends(self, pieces: Sequence[int]) -> list[int]:
        """The place after each whole word of `pieces`. With the space first, a word is over when something follows that
        shows it."""
        subwords = self.model.target_subwords
        if subwords.space_first:
            shows = (piece in STOPPING_IDS or subwords.starts_word[piece] for piece in pieces)
            return [place for place, shown in enumerate(shows) if shown and place]
        return [place for place, piece in enumerate(pieces, start=1) if subwords.ends_word[piece]]

    def beam_rules(self, may_end: bool) -> Ending:
        """How a beam ends, of a search in which the sentence `may_end`."""
        penalty = self.model.length_penalty
        if not may_end or self.model.search == "turia":
            return Ending(length_penalty=penalty)
        # The piece of the language counts, as `generate` predicts it by force.
        return Ending(True, int(self.model.target_piece is not None and not self.target.ids), penalty)
