"""Whole texts translated by a model that lies in a folder, sentence by sentence, and what is dropped on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from turia.corpus.monolingual import Text, is_other_language, spoken_sentences
from turia.corpus.shards import load_subwords
from turia.errors import ModelError
from turia.model.checkpoint import fill_model, load_json
from turia.model.sentences import Draw, SentenceTranslator
from turia.model.transformer import Transformer
from turia.runtime.folder import AS_GIVEN, CONFIG_FILE, load_folder
from turia.text.layout import Sentence, Window, closing_symbol, lay_out
from turia.text.normalise import NORMALISATION, clean, normalise, part_joined_words
from turia.training.distributed import device_here
from turia.training.precision import half_type
from turia.training.run import RunFolder
from turia.training.transfer import starting_shape, starting_weights

_BATCH_TOKENS = 6000
"""Source positions of a batch, padding included."""
_LONGEST = 100
"""Words of a sentence; longer ones are lists, or text without full stops, and are not translated."""
_MOST_PIECES, _MOST_PIECES_PER_WORD = 10, 3
"""How long a translation may become before it is taken for endless: so many pieces, and so many a word."""
_REPEATS = {1: 4, 2: 3, 3: 3, 4: 3, 5: 3, 6: 3}
"""So many times in a row, the same words are a loop: by how many words are repeated."""
_RATIO, _RATIO_FROM = 2.5, 6
"""Longer side over shorter side, for sentences of which a side has more than so many words."""


class Line(NamedTuple):
    """A sentence of a text."""

    document: str
    text: str
    words: list[str]
    """As the model reads them."""
    opens: bool
    closes: bool


@dataclass(frozen=True)
class _Properties:
    """What a folder says about its model."""

    languages: tuple[str, str]
    gamma: float
    normalisation: int


class TextTranslator:
    """The model of a run folder or a model folder. Drops are counted by the names in corpus/backtranslated.py."""

    def __init__(self, folder: Path, bfloat16: bool = False) -> None:
        checkpoint, weights = starting_weights(folder)
        self._shape = starting_shape(folder, checkpoint)
        model = Transformer(self._shape)
        fill_model(model, weights, checkpoint)
        self._source, self._target = load_subwords(folder)
        self._properties = _properties(folder)
        if self._properties.normalisation not in (AS_GIVEN, NORMALISATION):
            raise ModelError(
                f"{folder}: trained on text of normalisation {self._properties.normalisation}, this Turia has "
                f"{NORMALISATION}"
            )
        device = device_here()
        self._half = half_type(device, cpu_bfloat16=True) if bfloat16 else None
        self._sentences = SentenceTranslator(model.to(device), self._target)

    @property
    def languages(self) -> tuple[str, str]:
        """Of what it reads, and of what it writes."""
        return self._properties.languages

    def lines(self, texts: Sequence[Text], dropped: Counter[str]) -> Iterator[Line]:
        """The sentences of texts; those without words are left out."""
        language = self.languages[0]
        for text in texts:
            if is_other_language(text.written, language):
                dropped["other_language"] += 1
                continue
            read = [(said, self._read(said)) for said in spoken_sentences(text.written, language)]
            spoken = [(said, words) for said, words in read if words]
            if not spoken:
                dropped["no_words"] += 1
            for place, (said, words) in enumerate(spoken):
                yield Line(text.id, said, words, place == 0, place == len(spoken) - 1)

    def translate(self, lines: Sequence[Line], draw: Draw, seed: int, dropped: Counter[str]) -> list[list[str]]:
        """The words of each translation; none where there is none that is any good."""
        windows = [self._window(line) for line in lines]
        fits = [
            number
            for number, (line, window) in enumerate(zip(lines, windows, strict=True))
            if len(line.words) <= _LONGEST and len(window.ids) <= self._shape.max_positions
        ]
        dropped["long"] += len(lines) - len(fits)
        found: list[list[str]] = [[] for _ in lines]
        for batch in _batches(fits, [len(window.ids) for window in windows]):
            longest = max(len(lines[number].words) for number in batch)
            with torch.autocast(self._sentences.device.type, self._half, enabled=self._half is not None):
                translated = self._sentences.translate(
                    [windows[number] for number in batch],
                    [lines[number].opens for number in batch],
                    most=_MOST_PIECES + int(_MOST_PIECES_PER_WORD * max(1.0, self._properties.gamma) * longest),
                    draw=draw,
                    seed=int(np.random.default_rng([seed, batch[0]]).integers(2**62)),
                )
            for number, (pieces, ended) in zip(batch, translated, strict=True):
                words = self._target.decode_words(pieces)
                fault = find_fault(lines[number].words, words) if ended else "endless"
                if fault is None:
                    found[number] = words
                else:
                    dropped[fault] += 1
        return found

    def _read(self, text: str) -> list[str]:
        as_given = self._properties.normalisation == AS_GIVEN
        return clean(text) if as_given else normalise(part_joined_words(text))

    def _window(self, line: Line) -> Window:
        pieces = [self._source.encode_word(word) for word in line.words]
        ids = np.array([piece for word in pieces for piece in word], dtype=np.int64)
        sentence = Sentence(ids, np.array([len(word) for word in pieces], dtype=np.int64))
        return lay_out([sentence], line.opens, closing_symbol(line.closes), opening=self._shape.source_opening)


def find_fault(source: Sequence[str], target: Sequence[str]) -> str | None:
    """What is wrong with the words of a translation, if anything."""
    if not target:
        return "empty"
    if _loops(target) and not _loops(source):
        return "loop"
    short, long = sorted((len(source), len(target)))
    return "ratio" if long > _RATIO_FROM and long > _RATIO * short else None


def _loops(words: Sequence[str]) -> bool:
    """Whether the same words stand in a row too often."""
    lowered = [word.lower() for word in words]
    for order, repeats in _REPEATS.items():
        same = 0
        for place in range(order, len(lowered)):
            same = same + 1 if lowered[place] == lowered[place - order] else 0
            if same >= order * (repeats - 1):
                return True
    return False


def _batches(sentences: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Sentences of like length together, the shortest first."""
    batch: list[int] = []
    for number in sorted(sentences, key=lengths.__getitem__):
        if batch and lengths[number] * (len(batch) + 1) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _properties(folder: Path) -> _Properties:
    if (folder / CONFIG_FILE).exists():
        config = load_folder(folder).config
        return _Properties((config.source_language, config.target_language), config.gamma, config.normalisation)
    run = RunFolder(folder)
    recipe, gamma = run.recipe(), float(load_json(folder / "data.json")["gamma"])
    return _Properties((recipe.source_language, recipe.target_language), gamma, run.normalisation())
