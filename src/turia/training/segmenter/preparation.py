"""The corpora of a recipe as streams of ids on disk, made once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from turia.config import Corpus, SegmenterRecipe
from turia.corpus.boundaries import monolingual_texts, parallel_texts, word_stream
from turia.errors import InputError
from turia.schema import to_dict
from turia.segmenter.window import PAST
from turia.system.files import write_file
from turia.text.counted import counted
from turia.text.vocabulary import Vocabulary


def prepare(recipe: SegmenterRecipe, folder: Path) -> Vocabulary:
    """Writes the streams `train` and `dev` in ids of a vocabulary learned on `train`, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    finished, vocabulary_path = folder / "finished.json", folder / "vocabulary.txt"
    made_from = _made_from(recipe)
    if finished.is_file() and finished.read_text(encoding="utf-8") == made_from:
        return Vocabulary.load(vocabulary_path)
    finished.unlink(missing_ok=True)
    pad = max(PAST, *recipe.model.windows)
    words = word_stream(_train_texts(recipe), pad)
    if not words.ends.any():
        raise InputError(f"the training corpora hold no sentence in {recipe.language!r}")
    vocabulary = Vocabulary.learn(words.counts(), recipe.model.vocabulary)
    words.encode(vocabulary).save(folder, "train")
    dev = word_stream(_parallel(recipe.data.dev, recipe.language, held_out=True), pad)
    # Each window is scored on its own part of dev.
    if dev.ends.sum() < len(recipe.model.windows):
        raise InputError(
            f"the dev corpora hold {counted(int(dev.ends.sum()), 'sentence')} in {recipe.language!r}, "
            f"expected at least {len(recipe.model.windows)}, one for each window"
        )
    dev.encode(vocabulary).save(folder, "dev")
    vocabulary.save(vocabulary_path)
    # Written last: an interrupted run leaves nothing that looks complete.
    write_file(finished, made_from)
    return vocabulary


def _made_from(recipe: SegmenterRecipe) -> str:
    """All that decides what `prepare` writes: the recipe's part in it, and the corpora's sizes and times."""
    corpora = (*recipe.data.train, *recipe.data.dev)
    paths = [path for corpus in corpora for path in (corpus.path, corpus.source) if path is not None]
    files = {str(path): path.stat() for path in (*paths, *recipe.data.monolingual) if path.is_file()}
    parts = {
        "language": recipe.language,
        "data": to_dict(recipe.data),
        "vocabulary": recipe.model.vocabulary,
        "windows": list(recipe.model.windows),
        "files": {name: [status.st_size, status.st_mtime_ns] for name, status in files.items()},
    }
    return json.dumps(parts, indent=1)


def _train_texts(recipe: SegmenterRecipe) -> Iterator[list[list[str]]]:
    yield from _parallel(recipe.data.train, recipe.language)
    for path in recipe.data.monolingual:
        yield from monolingual_texts(path, recipe.language)


def _parallel(corpora: tuple[Corpus, ...], language: str, held_out: bool = False) -> Iterator[list[list[str]]]:
    for corpus in corpora:
        for _ in range(corpus.repeat):
            yield from parallel_texts(corpus, language, held_out)
