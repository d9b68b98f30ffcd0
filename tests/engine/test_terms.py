"""A glossary in the search: terms are written as it says, once, where the model would have written them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.fakes import Chaos, Echo, Fake, TargetSeen, current, fake_model, run, subwords, written
from turia.engine.backend import Logits, LookRequest, Looks
from turia.engine.batcher import run_together
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.terms import SentenceTerms, TermPieces, bare, check_glossary
from turia.errors import ConfigError, InputError
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Note
from turia.text.glossary import Glossary, Term, parse_glossary

POLICIES = [
    "wait-k:k=2",
    "whole",
    "hold-n:n=1",
    "local-agreement",
    "alignatt",
    "edatt",
    "adaptive",
    "chunk:delay=1",
    "act:lag_cost=0.2",
]
SPEECH = ["ka", "leta", "miso", "no", "punde", "rata"]
GLOSSARY = parse_glossary("miso\tpuso lende\nrata\n")


class Aligned(Echo):
    """An echo whose rows look at the word that they are about to write, and that ends words soon."""

    def logits(self, state: TargetSeen) -> Logits:
        return super().logits(state) + np.where(subwords().ends_word, 0.5, 0.0).astype(np.float32)

    def look(self, requests: Sequence[LookRequest]) -> list[Looks]:
        return [
            looks._replace(attention=self._attention(looks.state, looks.attention.shape))  # type: ignore[arg-type]
            for looks in super().look(requests)
        ]

    def _attention(self, state: TargetSeen, shape: tuple[int, ...]) -> np.ndarray:
        attention = np.zeros(shape, dtype=np.float32)
        for row in range(shape[2]):
            rows = state.rows[: state.length - shape[2] + row + 1]
            source = [column[0] for column in rows[-1].seen]
            done = sum(map(bool, subwords().ends_word[current([one.piece for one in rows])]))
            own = len(source) - len(current(source))
            ends = [place for place in range(own, len(source)) if subwords().ends_word[source[place]]]
            attention[0, 0, row, ends[min(done, len(ends) - 1)] if ends else -1] = 1.0
        return attention


def stream(
    backend: Fake, policy: str = "wait-k:k=2", beam: int = 1, glossary: Glossary | None = GLOSSARY, sentences: int = 3
) -> Stream:
    chosen = Settings(policy=policy, beam=beam, glossary=glossary, max_lag=100)
    return Stream(fake_model(backend), GivenSegmenter([len(SPEECH)] * sentences), chosen)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("policy", POLICIES)
def test_terms_are_written_once_in_every_policy_and_search(policy: str, beam: int) -> None:
    # An echo does not care which marks stand behind a word.
    words = [bare(word) for word in written(run(stream(Aligned(), policy, beam, sentences=1), SPEECH))]
    assert words.count("puso") == words.count("lende") == 1
    assert words[words.index("puso") + 1] == "lende"
    assert "miso" not in words
    # The rest is as without: an echo, of which the word of the term has become two.
    assert words[: words.index("puso")] == SPEECH[: words.index("puso")]


class Sure(Aligned):
    """Half as sure again of its own words as the bonus of a term whose turn is not known."""

    def logits(self, state: TargetSeen) -> Logits:
        return 3 * super().logits(state)


def test_a_model_that_shows_no_attention_has_a_smaller_bonus() -> None:
    for backend, expected in ((Aligned(), True), (Sure(), False)):
        backend.can_look = False
        assert ("puso" in written(run(stream(backend, sentences=1), SPEECH))) is expected
        backend.can_look = True
        assert "puso" in written(run(stream(backend, sentences=1), SPEECH))


def test_a_sentence_without_terms_has_the_very_words_of_the_model() -> None:
    other = parse_glossary("kaso\tpuso\n")
    for policy in ("wait-k:k=2", "hold-n:n=1"):
        for beam in (1, 3):
            plain = run(stream(Chaos(), policy, beam, glossary=None), SPEECH * 3)
            assert run(stream(Chaos(), policy, beam, glossary=other), SPEECH * 3) == plain


def test_a_term_said_twice_is_written_twice() -> None:
    said = ["miso", "ka", "miso", "ka", "no", "ka"]
    assert written(run(stream(Aligned(), sentences=1), said))[:4] == ["Puso", "lende", "puso", "lende"]


def test_an_optional_term_needs_a_model_that_nearly_says_it() -> None:
    optional = Glossary([Term(("miso",), ("puso",), optional=True)])
    assert "puso" in written(run(stream(Aligned(), glossary=optional, sentences=1), SPEECH))
    assert "puso" not in written(run(stream(Sure(), glossary=optional, sentences=1), SPEECH))


def test_a_sentence_begins_with_a_capital_unless_the_case_is_exact() -> None:
    any_case = stream(Aligned(), glossary=parse_glossary("ka\tmiso"), sentences=1)
    exact = stream(Aligned(), glossary=parse_glossary("ka\tmiso\texact"), sentences=1)
    assert written(run(any_case, SPEECH))[0] == "Miso"
    assert written(run(exact, SPEECH))[0] == "miso"


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_restored_stream_goes_on_with_the_same_words(policy: str, beam: int) -> None:
    for backend in (Aligned(), Chaos()):
        whole = stream(backend, policy, beam)
        expected = [whole.push(word) for word in SPEECH * 3]
        again = stream(backend, policy, beam)
        for number, word in enumerate(SPEECH * 3):
            again = Stream.restore(again.model, GivenSegmenter([len(SPEECH)] * 3), again.state())
            assert again.push(word) == expected[number]
        assert again.flush() == whole.flush()


@pytest.mark.parametrize("policy", ["wait-k:k=2", "local-agreement", "chunk:delay=1"])
def test_streams_in_a_batch_get_the_words_that_they_get_alone(policy: str) -> None:
    backend = Chaos()
    glossaries = [GLOSSARY, None, parse_glossary("ka\tno pu\n"), GLOSSARY]
    alone = [run(stream(backend, policy, 2, glossary), SPEECH) for glossary in glossaries]

    def work(one: Stream):  # type: ignore[no-untyped-def]
        records = []
        for word in SPEECH:
            records += yield from one.push_steps(word)
        return records + (yield from one.flush_steps())

    streams = [stream(backend, policy, 2, glossary) for glossary in glossaries]
    assert run_together([work(one) for one in streams], backend) == alone


def test_a_recognisers_tail_brings_terms_out_earlier_and_no_others() -> None:
    with_tail, plain = stream(Aligned(), "wait-k:k=1"), stream(Aligned(), "wait-k:k=1")
    words = []
    for number, word in enumerate(SPEECH):
        words += written(with_tail.push_partial(" ".join(SPEECH[number : number + 2])).records)
        words += written(with_tail.push(word))
    assert words + written(with_tail.flush()) == written(run(plain, SPEECH))


def test_a_new_glossary_holds_from_the_next_sentence_on() -> None:
    one = stream(Aligned(), glossary=None, sentences=2)
    records = [record for word in SPEECH[:3] for record in one.push(word)]
    one.change(glossary=GLOSSARY)
    records += run(one, SPEECH[3:] + SPEECH)
    words = written(records)
    assert words[:6] == SPEECH
    assert words[8:10] == ["puso", "lende"]
    assert Note("settings", 1, f"glossary {GLOSSARY}") in records
    assert one.header()["glossary"] == str(GLOSSARY)


def test_a_translation_that_the_pieces_cannot_spell_is_refused_at_once() -> None:
    one = stream(Aligned(), glossary=None)
    with pytest.raises(
        ConfigError, match=r"the model's subwords cannot spell 'zzz.*' \(for 'ka'\); leave the term out"
    ):
        one.change(glossary=parse_glossary("ka\t" + "z" * 60))
    with pytest.raises(ConfigError, match="cannot spell"):
        stream(Aligned(), glossary=parse_glossary("ka\t" + "z" * 60))
    check_glossary(one.model, None)


@pytest.mark.parametrize("heard", [["ka"], "ka", [1, 2], []])
def test_a_state_whose_words_are_not_those_of_the_sentence_is_refused(heard: object) -> None:
    one = stream(Aligned())
    one.push("ka leta")
    state = one.state()
    assert state["heard"] == ["ka", "leta"]
    with pytest.raises(InputError, match="damaged"):
        Stream.restore(one.model, GivenSegmenter([6] * 3), {**state, "heard": heard})


LONG = parse_glossary("ka\tmi\nka le\tno\nka le ka\tpu\nle ka ka le\tra\n*ta le\tso\nno\n")


@given(st.lists(st.sampled_from(["ka", "le", "leta", "no", "so"]), max_size=20), st.sets(st.integers(0, 20)))
def test_a_search_that_goes_on_finds_what_one_from_the_beginning_does(words: list[str], looks: set[int]) -> None:
    terms = TermPieces(LONG, subwords())
    goes_on = SentenceTerms(terms)
    for length in sorted(looks):
        assert goes_on.missing(words[:length], False, []) == SentenceTerms(terms).missing(words[:length], False, [])
    assert goes_on.missing(words, True, []) == SentenceTerms(terms).missing(words, True, [])
    # What is shorter is looked at anew.
    assert goes_on.missing(words[:1], True, []) == SentenceTerms(terms).missing(words[:1], True, [])


def test_spellings_are_made_of_terms_that_are_met(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    real = subwords().encode_word

    def noted(word: str) -> tuple[int, ...]:
        encoded.append(word)
        return real(word)

    monkeypatch.setattr(subwords(), "encode_word", noted)
    pieces = TermPieces(parse_glossary("ka\tmi so\nle\tno\n"), subwords())
    assert sorted(set(encoded)) == ["Mi", "No", "So", "mi", "no", "so"]
    met = pieces.spellings(pieces.glossary.terms[0], first=False)
    assert set(met[()].values()) == {0.0, 1.0}
    assert "so," in encoded
    assert "no," not in encoded
