"""Models that a test can reason about: real subwords, real requests, no weights.

`Echo` writes the source words of the sentence, in order, as far as it sees them. `Chaos` writes a word that depends on
everything that it was ever shown, row by row: whoever shows it one column more, one row twice, or the rows of another
stream, gets another translation.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from turia.engine.backend import DecodeRequest, EncodeRequest, Logits, LookRequest, Looks, States
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.policy.base import Head, State, head_values
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Record, Write
from turia.text.subwords import Subwords, train_subwords
from turia.text.symbols import BRK_ID, CLOSING_IDS, END_ID, MORE_ID, SEP_ID

WORDS = [f"{a}{b}" for a in ("ka", "le", "mi", "no", "pu", "ra") for b in ("", "ta", "so", "nde")]


@cache
def subwords() -> Subwords:
    counts = {word: 10 + i for i, word in enumerate(WORDS)}
    counts |= dict.fromkeys("abcdefghijklmnopqrstuvwxyz0123456789", 1)
    return train_subwords(counts, vocabulary=340)


@dataclass(frozen=True)
class SourceSeen:
    """What an encoder knows: each position's id and how far it saw."""

    columns: tuple[tuple[int, int], ...]

    @property
    def length(self) -> int:
        return len(self.columns)

    @property
    def states(self) -> States:
        """[1, 2] of the last position: its id, and how far it saw."""
        return np.array(self.columns[-1:], dtype=np.float32)

    def ids(self) -> list[int]:
        return [column[0] for column in self.columns]


@dataclass(frozen=True)
class Row:
    piece: int
    seen: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TargetSeen:
    rows: tuple[Row, ...]

    @property
    def length(self) -> int:
        return len(self.rows)

    @property
    def states(self) -> States:
        """[1, 2] of the last row: its piece, and how much of the source it saw."""
        return np.array([[self.rows[-1].piece, len(self.rows[-1].seen)]], dtype=np.float32)

    def truncated(self, length: int) -> TargetSeen:
        return TargetSeen(self.rows[:length])


class Fake:
    """Runs requests one by one and remembers how many came together. A row's attention is on the last that it sees."""

    can_look = True
    gives_states = True

    def __init__(self) -> None:
        self.batches: list[int] = []

    def encode(self, requests: Sequence[EncodeRequest]) -> list[SourceSeen]:
        self.batches.append(len(requests))
        states = []
        for request in requests:
            past = request.state.columns if request.state is not None else ()  # type: ignore[attr-defined]
            new = tuple(zip(request.ids.tolist(), request.reach.tolist(), strict=True))
            assert all(0 < reach <= len(past) + len(new) for _, reach in new)
            states.append(SourceSeen(past + new))
        return states

    def decode(self, requests: Sequence[DecodeRequest]) -> list[tuple[TargetSeen, Logits]]:
        self.batches.append(len(requests))
        results = []
        for request in requests:
            assert len(request.ids) == len(request.limit) > 0
            assert all(0 < limit <= request.memory.length for limit in request.limit)
            past = request.state.rows if request.state is not None else ()  # type: ignore[attr-defined]
            columns = request.memory.columns  # type: ignore[attr-defined]
            new = tuple(
                Row(int(piece), columns[:limit]) for piece, limit in zip(request.ids, request.limit, strict=True)
            )
            state = TargetSeen(past + new)
            results.append((state, self.logits(state)))
        return results

    def look(self, requests: Sequence[LookRequest]) -> list[Looks]:
        results = []
        for request in requests:
            ((state, _),) = self.decode([request])
            new = range(state.length - len(request.ids) + 1, state.length + 1)
            attention = np.zeros((1, 1, len(new), request.memory.length), dtype=np.float32)
            for row, limit in enumerate(request.limit):
                attention[0, 0, row, limit - 1] = 1.0
            results.append(Looks(state, np.array([self.logits(state.truncated(end)) for end in new]), attention))
        return results

    def logits(self, state: TargetSeen) -> Logits:
        raise NotImplementedError


def current(ids: Sequence[int]) -> list[int]:
    """The ids after the last symbol that parts sentences."""
    starts = [
        index + 1 for index, piece in enumerate(ids[:-1] if ids[-1] in (BRK_ID, END_ID) else ids) if piece <= END_ID
    ]
    return list(ids[max(starts, default=0) :])


class Echo(Fake):
    """Copies the sentence; a word it does not see yet is its last visible one."""

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.zeros(len(subwords()), dtype=np.float32)
        source = current([column[0] for column in state.rows[-1].seen])
        closed = bool(source) and source[-1] in (BRK_ID, END_ID)
        source = source[:-1] if closed else source
        written = current([row.piece for row in state.rows])
        done = sum(map(bool, subwords().ends_word[written]))
        begun = len(written) - max((i + 1 for i, p in enumerate(written) if subwords().ends_word[p]), default=0)
        words: list[list[int]] = [[]]
        for piece in source:
            words[-1].append(piece)
            if subwords().ends_word[piece]:
                words.append([])
        words = [word for word in words if word]
        scores[SEP_ID] = 1.0
        if words and (done < len(words) or not closed):
            word = words[min(done, len(words) - 1)]
            # What a beam has tried may be longer than the word: it is ended.
            scores[word[min(begun, len(word) - 1)]] = 2.0
        else:
            scores[BRK_ID] = 3.0
        return scores


class Recording(Echo):
    """An echo that keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.encoded: list[EncodeRequest] = []
        self.decoded: list[DecodeRequest] = []

    def encode(self, requests: Sequence[EncodeRequest]) -> list[SourceSeen]:
        self.encoded += requests
        return super().encode(requests)

    def decode(self, requests: Sequence[DecodeRequest]) -> list[tuple[TargetSeen, Logits]]:
        self.decoded += requests
        return super().decode(requests)


class Rambling(Fake):
    """Finds no end, and says nothing often enough to be a loop."""

    words = random.Random(1).choices(WORDS, k=200)

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.zeros(len(subwords()), dtype=np.float32)
        [piece] = subwords().encode_word(self.words[len(current([row.piece for row in state.rows]))])
        scores[piece] = 1.0
        return scores


class Chaos(Fake):
    """Random words, the same for the same past."""

    def __init__(self, end_probability: float = 0.15) -> None:
        super().__init__()
        self.end_probability = end_probability

    def logits(self, state: TargetSeen) -> Logits:
        digest = hashlib.blake2b(repr(state).encode(), digest_size=8).digest()
        rng = np.random.default_rng(int.from_bytes(digest, "little"))
        scores = rng.random(len(subwords()), dtype=np.float32)
        scores[list(CLOSING_IDS)] = 2.0 if rng.random() < self.end_probability else -1.0
        scores[subwords().ends_word] += 0.5
        return scores


class FreeEcho(Fake):
    """Copies the stream without being told where sentences end: one ends with each word `ra`. Where it has seen nothing
    new, it asks for more. A row's attention is on the word that it copies."""

    separates = True

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.zeros(len(subwords()), dtype=np.float32)
        scores[: END_ID + 1] = -1.0
        words, done, begun = self.progress(state)
        closed = state.rows[-1].seen[-1][0] in (BRK_ID, END_ID)
        last = [row.piece for row in state.rows][-1]
        if self.separates and not begun and last == subwords().encode_word("ra")[-1]:
            scores[SEP_ID] = 3.0
        elif done < len(words):
            scores[words[done][min(len(begun), len(words[done]) - 1)]] = 2.0
        else:
            scores[BRK_ID if closed else MORE_ID] = 2.0
        return 10 * scores

    def progress(self, state: TargetSeen) -> tuple[list[list[int]], int, list[int]]:
        """The source words that the last row sees, how many words are written, and the one that is begun."""
        done, begun = _written(state)
        return _words([column[0] for column in state.rows[-1].seen]), done, begun

    def look(self, requests: Sequence[LookRequest]) -> list[Looks]:
        results = []
        for request, looks in zip(requests, super().look(requests), strict=True):
            attention = np.zeros_like(looks.attention)
            state = looks.state
            for row in range(len(request.ids)):
                words, done, _ = self.progress(state.truncated(state.length - len(request.ids) + row + 1))  # type: ignore[arg-type]
                place = min(1 + sum(map(len, words[:done])), request.memory.length - 1)
                attention[0, 0, row, place] = 1.0
            results.append(looks._replace(attention=attention))
        return results


def _words(ids: Sequence[int]) -> list[list[int]]:
    """Whole words of these pieces, symbols left out."""
    words: list[list[int]] = [[]]
    for piece in ids:
        if piece > END_ID:
            words[-1].append(piece)
            if subwords().ends_word[piece]:
                words.append([])
    return [word for word in words if word]


def _written(state: TargetSeen) -> tuple[int, list[int]]:
    pieces = [row.piece for row in state.rows if row.piece > END_ID]
    ends = [place + 1 for place, piece in enumerate(pieces) if subwords().ends_word[piece]]
    return len(ends), pieces[max(ends, default=0) :]


class Endless(FreeEcho):
    """The same, without a separator ever."""

    separates = False


class Mute(Fake):
    """Always asks for more; made to write, it rambles."""

    def logits(self, state: TargetSeen) -> Logits:
        scores = np.zeros(len(subwords()), dtype=np.float32)
        scores[MORE_ID] = 3.0
        [piece] = subwords().encode_word(Rambling.words[_written(state)[0] % len(Rambling.words)])
        scores[piece] = 1.0
        closed = state.rows[-1].seen[-1][0] in (BRK_ID, END_ID)
        scores[BRK_ID] = 3.0 if closed else 0.0
        return scores


class FreeChaos(Chaos):
    """Random words and symbols, the same for the same past."""

    def logits(self, state: TargetSeen) -> Logits:
        scores = super().logits(state)
        scores[SEP_ID] -= 0.5
        toss = hashlib.blake2b(repr(state).encode(), digest_size=1, person=b"more").digest()[0]
        scores[MORE_ID] = 3.0 if toss < 50 else -1.0
        return scores


class Coin(Fake):
    """One of two words, by a toss that depends on everything that it was ever shown: half of its drafts agree."""

    def logits(self, state: TargetSeen) -> Logits:
        toss = hashlib.blake2b(repr(state).encode(), digest_size=2).digest()
        scores = np.zeros(len(subwords()), dtype=np.float32)
        [piece] = subwords().encode_word(WORDS[toss[0] % 2])
        scores[piece] = 1.0
        scores[list(CLOSING_IDS)] = 2.0 if toss[1] < 40 else -1.0
        return scores


def chance(states: tuple[State, ...], /, *numbers: float) -> float:
    """A head without a network: a probability that depends on all that it is shown."""
    digest = hashlib.blake2b(head_values(states, *numbers).tobytes(), digest_size=4).digest()
    return int.from_bytes(digest, "little") / 2**32


HEADS: dict[str, Head] = dict.fromkeys(("chunk-source-1", "chunk-target-1", "act-0.2"), chance)


def fake_model(
    backend: Fake,
    encoder: str = "pbe",
    anchor: str = "sentence",
    max_positions: int = 512,
    heads: Mapping[str, Head] = HEADS,
    free: bool = False,
) -> Model:
    return Model(
        "fake",
        backend,
        subwords(),
        subwords(),
        encoder=encoder,  # type: ignore[arg-type]
        anchor=anchor,  # type: ignore[arg-type]
        gamma=1.0,
        history=60,
        max_positions=max_positions,
        heads=heads,
        free=free,
    )


def stream_of(backend: Fake, lengths: Sequence[int], window: int = 0, **chosen: Any) -> Stream:
    return Stream(fake_model(backend), GivenSegmenter(lengths, window), Settings(**chosen))


def run(stream: Stream, words: Sequence[str]) -> list[Record]:
    records = [record for word in words for record in stream.push(word)]
    return records + stream.flush()


def written(records: Sequence[Record]) -> list[str]:
    return [record.word for record in records if isinstance(record, Write)]
