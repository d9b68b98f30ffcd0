"""`turia segmenter apply`: words from a file or a pipe in, one sentence a line out, at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from turia.errors import InputError, Stopped
from turia.segmenter.online import ReleasedWord, Segmenter
from turia.segmenter.punctuation import PunctuationSegmenter
from turia.segmenter.stream_classifier import load_classifier
from turia.system.reading import opened, read_words, source_name
from turia.system.signals import StopRequests


def choose(model: Path | None, punctuation: str | None, window: int, max_words: int, argmax: bool = False) -> Segmenter:
    """The segmenter of an exported folder, or the one that trusts the punctuation of a language."""
    if (model is None) == (punctuation is None):
        raise InputError("expected either --model FOLDER or --punctuation LANGUAGE")
    if punctuation is not None:
        if argmax:
            raise InputError("--argmax is for the network of --model; punctuation has no probabilities")
        if not re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*", punctuation):
            raise InputError(f"--punctuation {punctuation}: expected the code of a language, such as de")
        return PunctuationSegmenter(punctuation, window, max_words)
    assert model is not None
    classifier = load_classifier(model, window)
    return classifier.segmenter(max_words, classifier.decision.argmax() if argmax else None)


def apply(segmenter: Segmenter, path: Path | None, output: TextIO) -> None:
    """Writes the words of a file (None: standard input), one sentence a line, each the moment it is visible.

    A signal ends the stream, and so does a source that breaks off: what was read comes out all the same, and then
    `Stopped` or an `InputError` is raised.
    """
    stop = StopRequests()
    with stop.noted(), opened(path) as file:
        for text in pieces(segmenter, stop.until(read_words(file, source_name(path)))):
            output.write(text)
            output.flush()
    if stop.number:
        raise Stopped(stop.number)


def pieces(segmenter: Segmenter, words: Iterable[str]) -> Iterator[str]:
    """Text to be written after each word that was read; all of it together is one sentence a line."""
    begun, fault = False, None
    try:
        for word in words:
            text, begun = _text(segmenter.push(word), begun)
            yield text
    except InputError as error:
        fault = error
    yield _text(segmenter.flush(), begun)[0]
    if fault is not None:
        raise fault


def _text(visible: Iterable[ReleasedWord], begun: bool) -> tuple[str, bool]:
    """What to write, and whether the line is begun afterwards."""
    text = ""
    for item in visible:
        if item.word is not None:
            text += f" {item.word}" if begun else item.word
        text += "\n" if item.ends_sentence else ""
        begun = not item.ends_sentence
    return text, begun
