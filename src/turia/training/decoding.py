"""Streaming translation of a dev set inside training: greedy, wait-k, history, one document after the other.

The whole source is known here, so each sentence is encoded once; the masks hide what the policy has not read, which
gives the states that an incremental encoder would have computed. The decoder goes piece by piece with its cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from turia.model.masks import cross_limit, encoder_reach, needed_words, words_limit
from turia.model.transformer import Transformer
from turia.policy.guards import degenerate, length_limit, loops
from turia.stream.history import history_start
from turia.text.choice import Forbidden, forbidden_pieces
from turia.text.layout import Ints, Sentence, Window, closing_symbol, lay_out, target_rows
from turia.text.subwords import Subwords, WordJoiner
from turia.text.symbols import CLOSING_IDS
from turia.training.multik import Policy


@dataclass(frozen=True)
class Written:
    """A translated sentence: its words, and its pieces as history."""

    words: list[str]
    sentence: Sentence


class DevTranslator:
    """Translates documents of source sentences as streams with known sentence ends."""

    def __init__(self, model: Transformer, subwords: Subwords, policy: Policy, history: int) -> None:
        self.model, self.subwords, self.policy, self.history = model, subwords, policy, history
        self.forbidden: Forbidden = forbidden_pieces(subwords)

    @torch.no_grad()
    def translate(self, document: Sequence[Sentence], k: int) -> list[list[str]]:
        """The words of each sentence's translation."""
        past: list[tuple[Sentence, Written]] = []
        translations = []
        first = 0
        for n, source in enumerate(document):
            first += history_start(
                [len(pair[0].pieces) for pair in past[first:]],
                [len(pair[1].words) for pair in past[first:]],
                self.history,
            )
            written = self._sentence(past[first:], source, first == 0, n == len(document) - 1, k)
            translations.append(written.words)
            past.append((source, written))
            if not written.words or degenerate(len(source.pieces), written.words):
                first = len(past)
        return translations

    def _sentence(
        self, past: list[tuple[Sentence, Written]], source: Sentence, opens: bool, ends: bool, k: int
    ) -> Written:
        window = lay_out([pair[0] for pair in past] + [source], opens, closing_symbol(ends))
        target_past = [pair[1].sentence for pair in past]
        empty = Sentence(np.zeros(0, np.int64), np.zeros(0, np.int64))
        prefix = lay_out([*target_past, empty], opens, None).ids
        reach = encoder_reach(window, k, self.policy.encoder, self.policy.anchor)
        states = self.model.encode(_row(window.ids), _row(reach)).states
        memory = self.model.memory(states)
        limit = np.append(self._past_limit(window, target_past, k), self._limit(window, 1, k))
        decoded = self.model.decode(_row(prefix), memory, _row(limit))

        joiner, words, ids, pieces = WordJoiner(self.subwords), [], [], [0]
        most = length_limit(len(source.pieces))
        while True:
            complete = limit[-1] == len(window.ids)
            if pieces[-1]:
                banned = self.forbidden.in_word
            else:
                banned = self.forbidden.word_start_or_end if complete else self.forbidden.word_start
            scores = self.model.logits(decoded.states[0, -1]).numpy()
            piece = int(np.where(banned, -np.inf, scores).argmax())
            if piece in CLOSING_IDS:
                break
            ids.append(piece)
            pieces[-1] += 1
            if self.subwords.ends_word[piece]:
                words.append(joiner.push(piece) or "")
                pieces.append(0)
                if len(words) >= most or loops(words):
                    break
            else:
                joiner.push(piece)
                if pieces[-1] > _LONGEST_WORD:
                    break
            position = len(prefix) + len(ids) - 1
            if position >= self.model.shape.max_positions:
                break
            limit = np.array([self._limit(window, len(words) + 1, k)])
            decoded = self.model.decode(_row(np.array([piece])), memory, _row(limit), decoded.kept)
        whole = pieces[: len(words)]
        return Written(words, Sentence(np.array(ids[: sum(whole)], np.int64), np.array(whole, np.int64)))

    def _past_limit(self, window: Window, target_past: list[Sentence], k: int) -> Ints:
        if not target_past:
            return np.zeros(0, np.int64)
        rows = target_rows(target_past)
        if self.policy.anchor == "window":
            return np.minimum(1 + k + np.arange(len(rows.word)), len(window.ids))
        return cross_limit(window, rows, k, self.policy.gamma, "sentence")

    def _limit(self, window: Window, t: int, k: int) -> int:
        """Source columns that the row of the current sentence's word t sees: what the word policy has read."""
        current = np.array([len(window.words) - 1])
        needed = needed_words(np.array([t]), k, self.policy.gamma)
        return int(words_limit(window, current, needed)[0])


_LONGEST_WORD = 40


def _row(values: Ints) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values))[None]
