"""A segmenter for input that already has punctuation, as many speech recognisers give it.

A sentence ends where text/sentence_ends.py says so, looking at the next word if the window allows it. One
word is enough: it tells `12. Mai` and `Dr. Weber` from a full stop. In front of the length limit, a
sentence may also end at a semicolon, a colon or a dash, and nearer to it at a comma.
"""

from __future__ import annotations

from collections.abc import Sequence

from turia.segmenter.online import MAX_WORDS, Decision, Reason, Segmenter, State, check_state
from turia.text.normalise import normalise_word
from turia.text.sentence_ends import ends_sentence, rules

_END, _CLAUSE, _COMMA, _NOTHING = 1.0, 0.4, 0.2, 0.0
# With less than 5 words left before the limit a comma will do, with less than 10 a stronger mark.
_DECISION = Decision(threshold=_END, falling=(0.0, *[_COMMA] * 4, *[_CLAUSE] * 5))


class PunctuationSegmenter(Segmenter):
    """Sentence ends from the punctuation of the input."""

    reason = Reason.PUNCTUATION

    def __init__(self, language: str, window: int = 1, max_words: int | None = MAX_WORDS) -> None:
        super().__init__(window, _DECISION, max_words)
        self._rules = rules(language)
        # Until a capital letter comes, the input may be one that has none.
        self._cased = False

    def _probability(self, word: str, following: Sequence[str], stopped: bool) -> float:
        after = next((candidate for candidate in following if normalise_word(candidate)), None)
        cased = self._cased or _has_capital(word) or any(map(_has_capital, following))
        if ends_sentence(word, after, self._rules, cased):
            return _END
        if word[-1:] in ";:–—" or word.endswith("--"):
            return _CLAUSE
        return _COMMA if word.endswith(",") else _NOTHING

    def _remember(self, word: str | None, ended: bool) -> None:
        self._cased = self._cased or (word is not None and _has_capital(word))

    def _begin(self) -> None:
        self._cased = False

    def _own_state(self) -> State:
        return {"cased": self._cased}

    def _restore_own(self, state: State) -> None:
        check_state("cased", state["cased"], isinstance(state["cased"], bool))
        self._cased = state["cased"]


def _has_capital(word: str) -> bool:
    return any(letter.isupper() for letter in word)
