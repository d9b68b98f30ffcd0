"""Moonshine with its own model, on the recording of the examples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from turia.errors import ModelError
from turia.speech.agreement import DecodedWord
from turia.speech.choice import load_recogniser
from turia.speech.moonshine import MoonshineDecoder, before_loop, packaged_model, read_pieces, with_times
from turia.speech.recogniser import RATE, Samples
from turia.speech.sound import file_sound

ENGLISH = Path(__file__).parents[2] / "examples/speech/english.wav"


@pytest.fixture(scope="module")
def english() -> Samples:
    return np.concatenate(list(file_sound(ENGLISH)))


@pytest.fixture(scope="module")
def decoder() -> MoonshineDecoder:
    return MoonshineDecoder()


def test_a_word_s_share_of_the_time_is_that_of_its_letters() -> None:
    assert with_times([("a", 0.5), ("little", 1.0)], (1.0, 2.8)) == [
        DecodedWord("a", 1.0, 1.4, 0.5),
        DecodedWord("little", 1.4, pytest.approx(2.8), 1.0),  # type: ignore[arg-type]
    ]
    assert with_times([], (1.0, 2.0)) == []


def test_a_loop_is_kept_once_and_people_may_say_no_three_times() -> None:
    assert before_loop([1, 2, 3, 4, 5, 6] * 2) == 0
    assert before_loop([9, 8, *[1, 2, 3, 4] * 3]) == 6
    assert before_loop([9, *[7] * 12]) == 2
    assert before_loop([1, 2, *[5, 6] * 3]) == 0
    assert before_loop([]) == 0


def test_pieces_have_lengths_of_one_byte_or_two() -> None:
    assert read_pieces(b"\x01a\x00\x82\x01" + b"b" * 130) == [b"a", b"", b"b" * 130]


def test_a_folder_without_the_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no encoder_model\.ort, which a Moonshine model has"):
        MoonshineDecoder(tmp_path)


def test_the_installed_package_has_the_model() -> None:
    assert {path.name for path in packaged_model().iterdir()} >= {"encoder_model.ort", "tokenizer.bin"}


def test_it_understands_english_and_says_how_sure_it_is(decoder: MoonshineDecoder, english: Samples) -> None:
    words = decoder.decode(english[: 5 * RATE // 2], (0.1, 2.5))
    assert [word.text.strip(".,").lower() for word in words] == ["madam", "president", "ladies", "and", "gentlemen"]
    assert words[-1].end == pytest.approx(2.5)
    assert all(0 < word.probability <= 1 for word in words)


def test_a_sound_too_short_for_words_gives_hardly_any(decoder: MoonshineDecoder, english: Samples) -> None:
    assert len(decoder.decode(english[:200], (0.0, 0.01))) <= 2


@pytest.mark.slow
def test_the_contract_holds_with_the_real_model(english: Samples) -> None:
    """As tests/speech/test_recogniser.py has it for the others."""
    spoken = np.concatenate([english[: 5 * RATE // 2], np.zeros(RATE, np.float32)])

    def words(chunk: int) -> list[tuple[str, float | None]]:
        recogniser = load_recogniser("moonshine", "en")
        heard = [recogniser.push(spoken[i : i + chunk]) for i in range(0, len(spoken), chunk)]
        heard.append(recogniser.flush())
        assert any(each.partial for each in heard)
        assert recogniser.certainty is not None
        assert 0.75 < recogniser.certainty <= 1
        return [(word.text, word.end) for each in heard for word in each.final]

    found = words(1600)
    assert [text.strip(".,").lower() for text, _ in found][1:] == ["president", "ladies", "and", "gentlemen"]
    assert found[-1][1] == pytest.approx(2.5, abs=0.1)
    assert words(7000) == found
