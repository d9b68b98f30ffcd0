"""How far captions are behind: the words read that have no translation yet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fakes import WORDS, Echo, TargetSeen, current, subwords
from tests.server.fakes import FakeTranslator, chaotic_translators, fake_translators
from turia.engine.backend import Logits, run_steps
from turia.policy.waitk import WaitK
from turia.protocol.client_messages import SettingsChange
from turia.protocol.events import Event, SettingsInForce
from turia.server.captions import Captions, Input, Tail, Word
from turia.server.choices import StreamChoice
from turia.server.lag import Lag
from turia.stream.trace import SentenceEnd, Write
from turia.text.symbols import BRK_ID

CHOICE = StreamChoice("de-en", WaitK(2), punctuation=True)


def apply(captions: Captions, inputs: list[Input]) -> list[Event]:
    return run_steps(captions.apply(inputs, lambda: 0.0), captions.model.backend)


def said(text: str) -> list[Input]:
    return [Word(seq, word) for seq, word in enumerate(text.split(), start=1)]


def begun(k: int = 2) -> Captions:
    return Captions.begin(fake_translators(), replace(CHOICE, policy=WaitK(k)))[0]


def test_each_target_word_leaves_those_waiting_that_were_read_and_not_translated() -> None:
    captions = begun(k=3)
    lag = Lag(captions)
    # ka after three words, le after four; the rest when the sentence ends.
    assert lag.of(apply(captions, said("ka le mi no pu. ka le mi"))) == [2, 2, 2, 1, 0, 2]


class Wordy(Echo):
    """Says everything twice."""

    def logits(self, state: TargetSeen) -> Logits:
        source = current([column[0] for column in state.rows[-1].seen])
        written = len(current([row.piece for row in state.rows]))
        scores = np.zeros(len(subwords()), dtype=np.float32)
        said = source[min(written // 2, len(source) - 1)]
        scores[said if written < 2 * len(source) - 2 or source[-1] != BRK_ID else BRK_ID] = 1.0
        return scores


def test_a_translation_of_more_words_than_its_source_does_not_hide_the_lag_of_the_next_sentence() -> None:
    captions = Captions.begin({"de-en": FakeTranslator("de-en", Wordy())}, CHOICE)[0]
    events = apply(captions, said("ka le mi. no pu ra ka. ka le mi"))
    ends = [(event.source_words, event.target_words) for event in events if isinstance(event, SentenceEnd)]
    assert ends == [(3, 6), (4, 8)]
    by_sentence: dict[int, list[int]] = {}
    writes = [event for event in events if isinstance(event, Write)]
    for write, words in zip(writes, Lag(begun()).of(events), strict=True):
        by_sentence.setdefault(write.sentence, []).append(words)
    # Wait-2 is one word behind, in the third sentence as in the first.
    assert by_sentence == {0: [1, 1, 0, 0, 0, 0], 1: [1, 1, 1, 0, 0, 0, 0, 0], 2: [1, 1]}


def test_a_long_translation_of_a_sentence_does_not_stand_for_words_behind_it() -> None:
    """Two words of the next sentence had been read when the segmenter saw that this one had ended."""
    writes = [Write("a", index, 4, 0, "catch-up") for index in range(5)]
    assert Lag(begun()).of([*writes, SentenceEnd(0, 2, 5, "segmenter")]) == [3, 2, 2, 2, 2]


def test_a_target_word_stands_for_as_many_source_words_as_the_model_s_gamma_says() -> None:
    lag = Lag(begun())
    assert lag.of([SettingsInForce("de-en", "de", "en", 2, 0.5, 1, 0.0, 0, 10, True)]) == []
    assert lag.of([Write("a", 0, 6, 0, "policy"), Write("b", 1, 6, 0, "policy")]) == [4, 2]


inputs = st.lists(
    st.one_of(
        st.sampled_from([*WORDS[:4], "–", "ka.", "le."]).map(lambda word: Word(0, word)),
        st.sampled_from(["ka", "ka le", "mi. no"]).map(Tail),
        st.sampled_from(["en-de", "de-en"]).map(lambda model: SettingsChange(0, model=model)),
    ),
    max_size=20,
)


@settings(max_examples=30, deadline=None)
@given(inputs, st.data())
def test_captions_that_are_restored_anywhere_go_on_with_the_same_lag(items: list[Input], data: st.DataObject) -> None:
    stop = data.draw(st.integers(0, len(items)))
    captions = Captions.begin(chaotic_translators(), CHOICE)[0]
    lag, found, restored = Lag(captions), list[int](), list[int]()
    again: Lag | None = None
    for number, item in enumerate(items):
        if number == stop:
            again = Lag(Captions.restore(chaotic_translators(), captions.state(), captions.progress))
        events = apply(captions, [item])
        new = lag.of(events)
        assert all(words >= 0 for words in new)
        if again is not None:
            found += new
            restored += again.of(events)
    assert restored == found
    assert vars(lag) == vars(Lag(captions))
