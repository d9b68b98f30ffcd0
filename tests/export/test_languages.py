"""Languages as people type them are those that models name."""

from __future__ import annotations

import pytest

from turia.errors import InputError
from turia.export.languages import M2M_100, WMT_21, find_language, standard_code

NLLB = ("arb_Arab", "arz_Arab", "deu_Latn", "eng_Latn", "lvs_Latn", "nob_Latn", "pes_Arab", "zho_Hans", "zho_Hant")


@pytest.mark.parametrize(
    ("asked", "known", "found"),
    [
        ("de", NLLB, "deu_Latn"),
        ("deu", NLLB, "deu_Latn"),
        ("de-AT", NLLB, "deu_Latn"),
        ("deu_Latn", NLLB, "deu_Latn"),
        ("ar", NLLB, "arb_Arab"),
        ("zh", NLLB, "zho_Hans"),
        ("zh-TW", NLLB, "zho_Hant"),
        ("no", NLLB, "nob_Latn"),
        ("fa", NLLB, "pes_Arab"),
        ("deu_Latn", M2M_100, "de"),
        ("eng", M2M_100, "en"),
        ("en", ("deu", "eng", "fra"), "eng"),
        ("fr", ("fr", "fr_BE"), "fr"),
    ],
)
def test_a_language_is_found_by_any_of_its_codes(asked: str, known: tuple[str, ...], found: str) -> None:
    assert find_language(asked, known, "model") == found


@pytest.mark.parametrize("asked", ["tlh", "deutsch", "sk", "", "x y"])
def test_other_languages_are_refused_with_those_that_there_are(asked: str) -> None:
    with pytest.raises(InputError, match=rf"nllb: no language '{asked}'; it has arb_Arab, .* and 1 more"):
        find_language(asked, NLLB, "nllb")


def test_standard_codes() -> None:
    assert [standard_code(code) for code in ("deu_Latn", "deu", "de", "arb_Arab", "zho_Hant")] == [
        *["de"] * 3,
        "ar",
        "zh-Hant",
    ]
    assert [standard_code(code) for code in ("mul", "xx", "ROMANCE", "")] == [None] * 4


@pytest.mark.slow
def test_the_order_is_that_of_transformers() -> None:
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    assert FAIRSEQ_LANGUAGE_CODES["m2m100"] == M2M_100
    assert FAIRSEQ_LANGUAGE_CODES["wmt21"] == WMT_21
