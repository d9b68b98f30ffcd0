"""Turia beside CTranslate2: the same weights, the same speech, word by word, in one process and in turn.

CTranslate2 translates sentences, not streams. People stream with it as `CTranslate2Streamer` does: at each word that
the policy wants, the source read so far is encoded again, and what is written is given as the prefix of the target,
which CTranslate2 decodes again piece by piece. Both write by wait-k, without history, and are told where sentences end.
They do not write quite the same words: CTranslate2's encoder sees the whole source at once, ours what it saw in
training.

Only ratios within one run say something: both are measured in turn, in processor time, and the best round of each
counts, because whatever disturbs a round makes it slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from rich import box
from rich.table import Table

from turia.engine.model import Model
from turia.engine.settings import LONGEST_WORD, Settings
from turia.engine.stream import Stream
from turia.engine.window import PartialSentence
from turia.experiments.bench_script import clock
from turia.policy.base import CountingPolicy, Situation
from turia.policy.guards import length_limit
from turia.runtime.kernels import named
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Write
from turia.text.layout import lay_out
from turia.text.normalise import clean_word, normalise_word
from turia.text.subwords import WordJoiner
from turia.text.symbols import BRK_ID, CLOSING_IDS, DOC_ID

ROUNDS = 3
_PIECES_A_WORD = 4
"""At most, in the plan of a whole sentence."""


class Streamer(Protocol):
    """Translates speech word by word."""

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        """The words that it writes."""
        ...


@dataclass(frozen=True)
class TuriaStreamer:
    """The engine."""

    model: Model
    settings: Settings

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        stream = Stream(self.model, GivenSegmenter([len(words) for words in sentences]), self.settings)
        records = [record for words in sentences for word in words for record in stream.push(word)]
        return [record.word for record in records if isinstance(record, Write)]


class CTranslate2Streamer:
    """CTranslate2, by encoding again and giving a prefix."""

    def __init__(self, folder: Path, model: Model, settings: Settings, precision: str = "int8") -> None:
        """`folder` is the model in CTranslate2's format (export/as_ctranslate2.py)."""
        import ctranslate2

        self._translator = ctranslate2.Translator(
            str(folder), device="cpu", compute_type=precision, inter_threads=1, intra_threads=1
        )
        self._model, self._settings = model, settings
        controls = np.flatnonzero(model.target_subwords.is_control).tolist()
        self._never = [[str(piece)] for piece in controls if piece not in CLOSING_IDS]
        self._closing = [str(piece) for piece in CLOSING_IDS]

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        return [word for words in sentences for word in self._sentence(words)]

    def _sentence(self, words: Sequence[str]) -> list[str]:
        policy, gamma, subwords = self._settings.policy, self._settings.gamma, self._model.source_subwords
        assert isinstance(policy, CountingPolicy)
        source = PartialSentence()
        written: list[int] = []
        count = 0
        for number, word in enumerate(words, start=1):
            normal = normalise_word(word) if self._model.normalises else clean_word(word)
            source.add(subwords.encode_word(normal) if normal else [])
            while source.ids and number < len(words) and policy.may_write(Situation(number, count, gamma)):
                written += self._word(source, written)
                count += 1
        return self._spelled(written + self._rest(source, written))

    def _word(self, source: PartialSentence, written: list[int]) -> list[int]:
        """The pieces of the next word; the sentence is still being spoken."""
        ahead = self._settings.lookahead if self._settings.beam > 1 else self._model.max_positions
        while True:
            pieces = self._pieces(source, None, written, ahead, self._word_is_over)
            for length in range(1, len(pieces) + 1):
                if self._word_is_over(pieces[:length]):
                    return pieces[: length - 1] if self._model.target_subwords.space_first else pieces[:length]
            if len(pieces) >= LONGEST_WORD or ahead >= self._model.max_positions:
                # A model that has learned little may never end a word; the engine ends it by force.
                return pieces[:LONGEST_WORD]
            ahead *= 2

    def _rest(self, source: PartialSentence, written: list[int]) -> list[int]:
        """All pieces that follow, once the sentence is complete."""
        most = _PIECES_A_WORD * max(1, length_limit(source.words, self._settings.gamma))
        return self._pieces(source, BRK_ID, written, most, lambda pieces: False)

    def _word_is_over(self, pieces: Sequence[int]) -> bool:
        subwords = self._model.target_subwords
        if subwords.space_first:
            return len(pieces) > 1 and bool(subwords.starts_word[pieces[-1]])
        return bool(subwords.ends_word[pieces[-1]])

    def _pieces(
        self,
        source: PartialSentence,
        closing: int | None,
        written: list[int],
        most: int,
        stops: Callable[[Sequence[int]], bool],
    ) -> list[int]:
        """One call of CTranslate2. A greedy search ends as soon as it `stops`; a beam cannot be told to."""
        window = lay_out([source.sentence()], True, closing, self._model.source_opening, self._model.source_piece)
        opening = [DOC_ID] if self._model.target_piece is None else [DOC_ID, self._model.target_piece]
        given = len(written) + len(opening) - 1
        new: list[int] = []

        def heard(step: Any) -> bool:
            if step.step < given:
                return False
            new.append(step.token_id)
            return stops(new)

        (result,) = self._translator.translate_batch(
            [[str(piece) for piece in window.ids]],
            target_prefix=[[str(piece) for piece in (*opening, *written)]],
            beam_size=self._settings.beam,
            length_penalty=self._model.length_penalty,
            max_decoding_length=min(given + most, self._model.max_positions - 1),
            end_token=self._closing,
            suppress_sequences=self._never + ([] if closing is not None else [[piece] for piece in self._closing]),
            callback=heard if self._settings.beam == 1 else None,
        )
        return [int(piece) for piece in result.hypotheses[0][given:]]

    def _spelled(self, pieces: Sequence[int]) -> list[str]:
        joiner = WordJoiner(self._model.target_subwords)
        words = [*(joiner.push(piece) for piece in pieces), joiner.flush()]
        return [word for word in words if word]


@dataclass(frozen=True)
class Match:
    """Both with one beam."""

    beam: int
    turia: float
    """Milliseconds of processor time a source word."""
    ctranslate2: float
    turia_words: int
    """Written, of the same speech: who writes more has more to do."""
    ctranslate2_words: int

    @property
    def ratio(self) -> float:
        """How long Turia takes, CTranslate2 being 1."""
        return self.turia / self.ctranslate2


@dataclass(frozen=True)
class Contest:
    """What `turia bench` found beside CTranslate2."""

    version: str
    """Of CTranslate2."""
    k: int
    words: int
    """Of the source."""
    matches: list[Match]
    kernels: str
    """What computed Turia's side."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"matches": [asdict(match) | {"ratio": match.ratio} for match in self.matches]}

    def table(self) -> Table:
        title = f"beside CTranslate2 {self.version}: ms a source word, k = {self.k}, no history; {self.kernels}"
        table = Table(title=title, box=box.SIMPLE_HEAD)
        for name in ("beam", "Turia", "CTranslate2", "ratio", "words written"):
            table.add_column(name, justify="right")
        for match in self.matches:
            words = f"{match.turia_words}, {match.ctranslate2_words}"
            table.add_row(
                str(match.beam), f"{match.turia:.2f}", f"{match.ctranslate2:.2f}", f"{match.ratio:.2f}", words
            )
        return table


def contest(
    model: Model,
    folder: Path,
    sentences: Sequence[Sequence[str]],
    k: int,
    beams: Sequence[int],
    rounds: int,
    show: Callable[[float, str], None],
) -> Contest:
    """`model` beside the same one in CTranslate2's format, which is in `folder`."""
    import ctranslate2

    words = sum(map(len, sentences))
    matches = []
    for number, beam in enumerate(beams):
        settings = Settings(k=k, gamma=model.gamma, history=0, beam=beam)
        streamers: list[Streamer] = [TuriaStreamer(model, settings), CTranslate2Streamer(folder, model, settings)]
        best = [float("inf")] * len(streamers)
        written = [len(streamer(sentences[:1])) for streamer in streamers]
        for turn in range(rounds):
            show((number + turn / rounds) / len(beams), f"CTranslate2, beam {beam}")
            for place, streamer in enumerate(streamers):
                began = clock()
                written[place] = len(streamer(sentences))
                best[place] = min(best[place], clock() - began)
        matches.append(Match(beam, 1000 * best[0] / words, 1000 * best[1] / words, *written))
    return Contest(ctranslate2.__version__, k, words, matches, named(model.backend))
