"""Adds models to those that are installed. A model appears whole and tested, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from turia.engine.stream import Stream
from turia.errors import InputError, ModelError, ResourceError
from turia.export.families import CONFIG, read_checkpoint
from turia.export.offline import Origin, Wanted, convert
from turia.export.vocabulary import find_languages, read_vocabulary
from turia.runtime.card import front_matter, shown_card
from turia.runtime.folder import ModelConfig, load_folder
from turia.runtime.home import PACKAGED, check_name, models_folder, packaged_models
from turia.runtime.kernels import why_not_native
from turia.runtime.packed import add_packed
from turia.runtime.translator import Translator
from turia.segmenter.classifier import SETTINGS_FILE
from turia.stream.trace import Write
from turia.system.files import replacing

Show = Callable[[float, str], None]
SENTENCES = {
    "de": "Guten Morgen , meine Damen und Herren .",
    "en": "Good morning , ladies and gentlemen .",
    "es": "Buenos días , señoras y señores .",
    "fr": "Bonjour , mesdames et messieurs .",
    "it": "Buongiorno , signore e signori .",
    "nl": "Goedemorgen , dames en heren .",
    "pt": "Bom dia , senhoras e senhores .",
}
"""To try a model with; other languages get figures, which all can write."""
FIGURES = "1 2 3 4 5 6 ."


@dataclass(frozen=True)
class Added:
    """A model that was installed."""

    name: str
    folder: Path
    config: ModelConfig
    origin: Origin
    said: str
    """A sentence, and what the model makes of it."""
    translated: str
    finds_sentences: bool
    """Whether it got a segmenter of its source language."""


def add(model: str, wanted: Wanted, name: str | None, revision: str | None, show: Show) -> Added:
    """Converts a checkpoint, from the hub by its id or from a folder, tests it, and installs it."""
    folder = Path(model).expanduser()
    local = (folder / CONFIG).is_file()
    if folder.is_dir() and not local:
        raise ModelError(f"{folder}: no {CONFIG}; expected a checkpoint in the layout of Hugging Face")
    if local and revision is not None:
        raise InputError(f"{folder} is a folder, which has no revisions; --revision is for models on the hub")
    given = folder.resolve().name if local else model.rstrip("/").rpartition("/")[2]
    names = [] if name is None else [name]

    def check(checkpoint: Path) -> None:
        """Refuses languages that the model has not, and names that are taken."""
        names.append(_default_name(checkpoint, given, wanted))
        _check_free(names[0])

    if local:
        check(folder)
        origin = Origin(given, licence=_licence(folder))
    else:
        from turia.hub.download import fetch

        if name is not None:
            _check_free(name)
        fetched = fetch(model, revision, lambda share, what: show(0.7 * share, what), check)
        folder, origin = fetched.folder, fetched.origin
    name = names[0]
    place = models_folder() / name
    try:
        with replacing(place) as new:
            show(0.7, "converting")
            config = convert(folder, new, wanted, origin, segmenters())
            converted = load_folder(new)
            if why_not_native(converted) is None:
                add_packed(converted)
            show(0.9, "testing")
            said, translated = try_out(new)
        finds = (place / SETTINGS_FILE).exists()
    except (OSError, ResourceError) as error:
        # The writer of model folders names the folder that it wrote to, which nobody has heard of.
        cause = error.__cause__ if isinstance(error, ResourceError) else error
        why = cause.strerror if isinstance(cause, OSError) else str(error)
        raise ResourceError(f"{place}: could not be written: {why}; nothing was installed") from error
    show(1.0, "installed")
    return Added(name, place, config, origin, said, translated, finds)


def segmenters() -> dict[str, list[Path]]:
    """The files of the segmenters that came with the package, by their language."""
    found: dict[str, list[Path]] = {}
    for name in packaged_models():
        folder = load_folder(PACKAGED / name)
        files = sorted(PACKAGED / name / file for file in folder.listed if file.startswith("segmenter"))
        if files:
            found[folder.config.source_language] = files
    return found


def try_out(folder: Path) -> tuple[str, str]:
    """Translates a sentence as a whole and as a stream; gives it, and its translation as a whole."""
    translator = Translator.load(folder)
    sentence = SENTENCES.get(translator.config.source_language, FIGURES)
    whole = _written(translator.stream(policy="whole", punctuation=True), sentence)
    if not whole:
        raise ModelError(f"the converted model writes nothing for {sentence!r}; it was not installed")
    # What it says word by word may differ; it must come to an end.
    _written(translator.stream(punctuation=True), sentence)
    return sentence, " ".join(whole)


def _written(stream: Stream, sentence: str) -> list[str]:
    records = [record for word in sentence.split() for record in stream.push(word)]
    return [record.word for record in [*records, *stream.flush()] if isinstance(record, Write)]


def _default_name(folder: Path, given: str, wanted: Wanted) -> str:
    """The model's own name; with the languages, if it has more than these."""
    vocabulary = read_vocabulary(read_checkpoint(folder, given))
    languages = find_languages(vocabulary, wanted.source, wanted.target)
    return f"{given}-{languages.source}-{languages.target}" if vocabulary.languages else given


def _check_free(name: str) -> None:
    check_name(name)
    if (models_folder() / name).exists():
        raise InputError(f"a model {name!r} is there; `turia models remove {name}` first, or give another --name")


def _licence(folder: Path) -> str | None:
    """What the card in a folder says."""
    return next(iter(front_matter(shown_card(folder)).get("license", ())), None)
