"""A word that a glossary has displaced does not come after all, where the model means the term again."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.fakes import TargetSeen, current, run, subwords, written
from tests.engine.test_terms import POLICIES, SPEECH, Aligned, stream
from turia.engine.backend import Logits
from turia.engine.displaced import DisplacedWords
from turia.engine.stream import Stream
from turia.engine.terms import bare
from turia.errors import InputError
from turia.segmenter.online import GivenSegmenter
from turia.text.glossary import parse_glossary

GLOSSARY = parse_glossary("miso\tpuso")
PLACE = SPEECH.index("miso")
MISO = list(subwords().encode_word("miso"))


class Stubborn(Aligned):
    """Says *miso* after all, `later` words behind the *puso* of the glossary; and looks at the *miso* of the source
    then, unless it `means` another word."""

    def __init__(self, later: int = 0, means: int = PLACE) -> None:
        super().__init__()
        self.later, self.means = later, means

    def logits(self, state: TargetSeen) -> Logits:
        scores = super().logits(state)
        pieces = [row.piece for row in state.rows]
        for begun in range(len(MISO)):
            before = len(pieces) - begun
            if pieces[before:] == MISO[:begun] and self._insists(pieces[:before]):
                scores[MISO[begun]] += 3.0
        return scores

    def _attention(self, state: TargetSeen, shape: tuple[int, ...]) -> np.ndarray:
        attention = super()._attention(state, shape)
        for row in range(shape[2]):
            rows = state.rows[: state.length - shape[2] + row + 1]
            if self._insists([one.piece for one in rows]):
                source = [column[0] for column in rows[-1].seen]
                ends = np.flatnonzero(subwords().ends_word[source])
                attention[0, 0, row] = 0.0
                attention[0, 0, row, ends[min(self.means, len(ends) - 1)]] = 1.0
        return attention

    def _insists(self, pieces: list[int]) -> bool:
        words = current(pieces)
        if not words or not subwords().ends_word[words[-1]]:
            return False
        said = [bare(word) for word in subwords().decode_words(words)]
        return len(said) > self.later and said[-1 - self.later] == "puso" and "miso" not in said


def said(backend: Stubborn, policy: str = "wait-k:k=2", beam: int = 1, glossary: bool = True) -> list[str]:
    chosen = GLOSSARY if glossary else None
    return [bare(word) for word in written(run(stream(backend, policy, beam, chosen, sentences=1), SPEECH))]


def test_the_model_itself_would_say_it() -> None:
    # Nothing was displaced where *puso* was said by the speaker.
    words = written(run(stream(Stubborn(), glossary=None, sentences=1), ["ka", "puso", "no"]))
    assert words[:3] == ["ka", "puso", "miso"]


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("later", [0, 1])
def test_a_displaced_word_does_not_come_after_all(policy: str, beam: int, later: int) -> None:
    words = said(Stubborn(later), policy, beam)
    assert "puso" in words
    assert "miso" not in words


def test_it_may_come_where_another_word_is_meant() -> None:
    assert said(Stubborn(1, means=PLACE + 2)).count("miso") == 1
    # Right behind the term it is that of the term, whatever attention says.
    assert "miso" not in said(Stubborn(0, means=PLACE + 2))


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("policy", ["wait-k:k=2", "local-agreement"])
def test_a_restored_stream_remembers_what_was_displaced(policy: str, beam: int) -> None:
    whole, again = (stream(Stubborn(1), policy, beam, GLOSSARY) for _ in range(2))
    for word in SPEECH * 3:
        again = Stream.restore(again.model, GivenSegmenter([len(SPEECH)] * 3), again.state())
        assert again.push(word) == whole.push(word)
    assert again.flush() == whole.flush()


def test_a_state_that_displaces_nonsense_is_refused() -> None:
    begun = stream(Stubborn(1), "wait-k:k=1", 1, GLOSSARY)
    for word in SPEECH[:4]:
        begun.push(word)
    state = begun.state()
    assert [note[1:] for note in state["displaced"]] == [["miso", [PLACE], ["puso"]]]
    wrong = [
        [[999, "miso", [2], ["a"]]],
        [[0, 5, [2], ["a"]]],
        [[0, "miso", [-1], ["a"]]],
        [[0, "miso", [2], []]],
        [["x"]],
        7,
    ]
    for bad in wrong:
        with pytest.raises(InputError, match="stream state is damaged"):
            Stream.restore(begun.model, GivenSegmenter([len(SPEECH)] * 3), state | {"displaced": bad})


def test_only_what_was_written_counts() -> None:
    words, miso, puso = DisplacedWords(), list(subwords().encode_word("miso")), list(subwords().encode_word("puso,"))
    words.note(miso, "leta", [2], ["puso"])
    assert words.of(miso, subwords()) == words.of([*miso, *miso], subwords()) == {}
    assert words.of([*miso, *puso], subwords())["leta"].places == {2}
    words.forget(miso)
    assert words.of([*miso, *puso], subwords()) == {}
