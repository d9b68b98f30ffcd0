"""`turia recase`: lower-cased, tokenised text as it would be written, with the capitals and spaces that it has lost.

`von dem " journal " , das sie lesen .` becomes `Von dem "Journal", das Sie lesen.`. A corpus of such text can be read
from as it is, since models read lower case without marks. Before a model learns to write it, it has to look like
writing. Capitals are learned from parallel text that has them:

- A word gets the form f that is likeliest given the word w, the word before it, the word after it and the words of the
  translation: P(f | w) · P(f | w, before) / P(f | w) · P(f | w, after) / P(f | w) · ∏ P(e | f) / P(e), where e are the
  common words of the translation; they tell `Sie` (you) from `sie` (they).
- A word that was never seen gets the form that most words with the same last letters have.
- The first word of a sentence has a capital.

Words at the beginning of a sentence teach nothing: all have capitals there.
"""

from __future__ import annotations

import lzma
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sacremoses import MosesDetokenizer

from turia.errors import InputError
from turia.formats.documents import read_tsv
from turia.system.files import replacing

_TRUST = 2.0
"""So many observations of a context count as much as what is known of the word without it."""
_AMBIGUOUS = 0.02
"""A word is looked up in its translation if so much of it has another form than its most frequent one."""
_COMMON = 300
"""So many of the most frequent words of the translation are looked at."""
_ENDINGS = range(8, 2, -1)
_SENTENCE_ENDS = frozenset(".!?…:")
_MARK = re.compile(r"\W+")


class Caser:
    """Learns from pairs of (written text, its translation) which words have capitals."""

    def __init__(self, language: str) -> None:
        self._detokenizer = MosesDetokenizer(language)
        self._forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._before: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._after: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._clues: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        self._endings: defaultdict[str, Counter[bool]] = defaultdict(Counter)

    def learn(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Counts forms and their contexts. The second text of a pair is the translation; it may be empty."""
        texts = [(_tokens(written), set(_words(other))) for written, other in pairs]
        for tokens, _ in texts:
            for place, token in enumerate(tokens):
                if _begins(tokens, place) or _MARK.fullmatch(token):
                    continue
                low = token.lower()
                self._forms[low][token] += 1
                self._before[_word(tokens, place - 1), low][token] += 1
                self._after[low, _word(tokens, place + 1)][token] += 1
        common = {word for word, _ in Counter(word for _, other in texts for word in other).most_common(_COMMON)}
        ambiguous = {low for low, forms in self._forms.items() if _is_ambiguous(forms)}
        for tokens, other in texts:
            for place, token in enumerate(tokens):
                if (low := token.lower()) in ambiguous and not _begins(tokens, place):
                    for clue in other & common:
                        self._clues[low][clue][token] += 1
        for low, forms in self._forms.items():
            capital = forms.most_common(1)[0][0] != low
            for length in _ENDINGS:
                if len(low) > length:
                    self._endings[low[-length:]][capital] += 1

    def written(self, text: str, other: str) -> str:
        """The lower-cased, tokenised `text` with capitals, and with spaces where a writer has them."""
        tokens, clues = text.split(), set(_words(other))
        cased = [self._cased(tokens, place, clues) for place in range(len(tokens))]
        joined: str = self._detokenizer.detokenize(cased, unescape=False)
        return joined

    def _cased(self, tokens: Sequence[str], place: int, clues: set[str]) -> str:
        low = tokens[place]
        form = self._form(low, _word(tokens, place - 1), _word(tokens, place + 1), clues)
        return form[:1].upper() + form[1:] if _begins(tokens, place) else form

    def _form(self, low: str, before: str, after: str, clues: set[str]) -> str:
        forms = self._forms.get(low)
        if forms is None:
            return "-".join(map(self._unseen, low.split("-")))
        total = forms.total()

        def score(form: str) -> float:
            alone = forms[form] / total
            points = math.log(alone)
            for context in (self._before.get((before, low)), self._after.get((low, after))):
                if context is not None:
                    points += math.log((context[form] / alone + _TRUST) / (context.total() + _TRUST))
            for clue in clues & self._clues[low].keys() if low in self._clues else ():
                seen = self._clues[low][clue]
                points += math.log((seen[form] / alone + _TRUST) / (seen.total() + _TRUST))
            return points

        return max(forms, key=score)

    def _unseen(self, low: str) -> str:
        """A part of a word with hyphens may have been seen alone. A compound is written as its last part."""
        if low in self._forms:
            return self._forms[low].most_common(1)[0][0]
        for length in _ENDINGS:
            known = self._endings.get(low[-length:])
            if known is not None and len(low) > length:
                return low[:1].upper() + low[1:] if known[True] > known[False] else low
        return low


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+(?:[-'’.]\w+)*|[^\w\s]", text)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _word(tokens: Sequence[str], place: int) -> str:
    return tokens[place].lower() if 0 <= place < len(tokens) else ""


def _begins(tokens: Sequence[str], place: int) -> bool:
    """Whether a sentence begins here, perhaps within quotes."""
    before = place - 1
    while before >= 0 and tokens[before] in "\"'„“”»«(-–—":
        before -= 1
    return before < 0 or tokens[before] in _SENTENCE_ENDS


def _is_ambiguous(forms: Counter[str]) -> bool:
    return forms.total() >= 100 and forms.most_common(1)[0][1] < (1 - _AMBIGUOUS) * forms.total()


@dataclass(frozen=True)
class RecaseReport:
    """What became of a corpus."""

    pairs: int
    recased: int
    """Lines that had no capital, and now look like writing."""
    learned_from: int
    """Pairs that forms were counted in."""

    def line(self) -> str:
        return f"{self.recased} of {self.pairs} lines recased, by {self.learned_from} pairs of written text"


def recase(
    path: Path, language: str, examples: Sequence[Path], out: Path, columns: tuple[str, ...] = ("de", "en")
) -> RecaseReport:
    """Writes the corpus at `path` to `out`, with the side in `language` as it would be written.

    A line that has a capital already was written by somebody, and stays. All files are `document<TAB>text<TAB>text`
    with the same columns.
    """
    if language not in columns:
        raise InputError(f"no column {language!r} among {', '.join(columns)}")
    if out.suffix != ".xz":
        raise InputError(f"{out}: the new corpus is packed by xz; give it a name that ends in .tsv.xz")
    others = [column for column in columns if column != language]
    if len(others) != 1:
        raise InputError(f"expected two columns with different names, such as de,en, not {','.join(columns)}")

    def pairs(of: Path) -> Iterator[tuple[str, str, str]]:
        for document in read_tsv(of, columns, language, others[0]):
            for text, other in zip(document.source, document.target, strict=True):
                yield document.id, text, other

    lines = list(pairs(path))
    written = [(text, other) for example in examples for _, text, other in pairs(example)]
    if not any(text != text.lower() for text, _ in written):
        raise InputError("the examples have no capitals to learn from; give text as people write it")
    caser = Caser(language)
    caser.learn(written)
    recased = 0
    with replacing(out) as new, lzma.open(new, "wt", encoding="utf-8") as file:
        for name, text, other in lines:
            if text and text == text.lower():
                text, recased = caser.written(text, other), recased + 1
            sides = (text, other) if columns[0] == language else (other, text)
            file.write("\t".join((name, *sides)) + "\n")
    return RecaseReport(len(lines), recased, len(written))
