"""A folder that `turia backtranslate` has written: a corpus whose one side is machine translation, and its report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from turia.config import Corpus
from turia.errors import ConfigError
from turia.schema import from_dict
from turia.text.counted import counted

CORPUS_FILE, REPORT_FILE = "corpus.tsv.xz", "backtranslation.json"


@dataclass(frozen=True)
class Untranslated:
    """What has no translation in the corpus, by reason."""

    other_language: int = 0
    """Documents that are not in the language of the text."""
    no_words: int = 0
    """Documents without words."""
    long: int = 0
    """Sentences that are too long to be translated."""
    endless: int = 0
    """Translations that did not end."""
    empty: int = 0
    """Translations without words."""
    loop: int = 0
    """Translations that say the same words over and over."""
    ratio: int = 0
    """Translations that are far longer or shorter than their sentence."""


@dataclass(frozen=True)
class BacktranslateReport:
    """What became of a text; its file is there when the corpus is complete."""

    digest: str
    model: str
    text_language: str
    """Of what people wrote."""
    written_language: str
    """Of what the model wrote."""
    documents: int
    pairs: int
    """Those that have a translation."""
    words: int
    """Of the text, in these pairs."""
    written_words: int
    dropped: Untranslated

    def lines(self) -> list[str]:
        """For people, one fact a line."""
        reasons = [f"{reason.replace('_', ' ')} {count}" for reason, count in vars(self.dropped).items() if count]
        documents = counted(self.documents, "document")
        return [
            f"{documents}, {counted(self.pairs, 'pair')}: {self.words} words of {self.text_language}, "
            f"{self.written_words} words of {self.written_language} by {self.model}",
            f"dropped: {', '.join(reasons) or 'nothing'}",
        ]

    def corpus(self, folder: Path) -> str:
        """How a recipe names the corpus."""
        columns = f'["{self.written_language}", "{self.text_language}"]'
        return f'[[data.train]]\npath = "{folder / CORPUS_FILE}"\ncolumns = {columns}\nsynthetic = true'

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"


def read_backtranslation(folder: Path) -> BacktranslateReport | None:
    """The report of a complete folder. One that cannot be read counts as absent: it is made anew."""
    try:
        report = from_dict(BacktranslateReport, json.loads((folder / REPORT_FILE).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return report if (folder / CORPUS_FILE).exists() else None


def check_marked(corpora: Iterable[Corpus]) -> None:
    """Refuses machine translation that its recipe does not call so: the card of the model would not either."""
    for corpus in corpora:
        written = corpus.path is not None and corpus.path.name == CORPUS_FILE
        if written and corpus.synthetic is None and read_backtranslation(corpus.path.parent) is not None:  # type: ignore[union-attr]
            raise ConfigError(
                f"{corpus.path} was written by `turia backtranslate`; set synthetic = true, so that the model's card "
                "says so"
            )
