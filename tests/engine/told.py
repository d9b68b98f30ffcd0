"""Writers that are told what to write, and give the scores of each piece."""

from __future__ import annotations

from typing import Any

from tests.engine.fakes import subwords
from turia.engine.writer import Writer


class Told(Writer):
    """Writes what it is told."""

    def feed(self, word: str) -> Any:
        """The scores of each piece of the next word."""
        pieces = subwords().encode_word(word)
        rows = []
        for count in range(len(pieces)):
            _, logits, now = yield from self._scores(list(pieces[:count]))
            rows.append(logits)
            self.row_limits.append(now)
        self.target.add(pieces)
        self.reads.append(self.source.words)
        return rows

    def feed_end(self) -> Any:
        """The scores of the piece after all words."""
        _, logits, _ = yield from self._scores([])
        return logits
