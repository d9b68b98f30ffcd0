"""Languages as people type them, and as models of many languages name them.

`de`, `deu`, `de-DE` and `deu_Latn` are one language, written in four ways. Which of a model's languages is meant is
decided by the package langcodes, from the tables of Unicode: `zh` is `zho_Hans` and `no` is `nob_Latn`.
"""

from __future__ import annotations

from collections.abc import Iterable

import langcodes
from langcodes.tag_parser import LanguageTagError

from turia.errors import InputError

_M2M_100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr "
    "ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or "
    "pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu "
)
M2M_100 = _M2M_100.split()
"""In the order of their pieces, which no file of an M2M-100 model says."""
WMT_21 = ["en", "ha", "is", "ja", "cs", "ru", "zh", "de"]
_NEAR = 4
"""The distance in which langcodes still sees one language: Norwegian and Bokmål, not Czech and Slovak."""
_SEVERAL = ("mul", "und", "mis", "zxx")


def standard_code(code: str) -> str | None:
    """The usual short code of a language (`de` for `deu_Latn`); None for what is none, or stands for several."""
    try:
        standard = langcodes.standardize_tag(code, macro=True)
    except LanguageTagError:
        return None
    return standard if langcodes.tag_is_valid(code) and standard not in _SEVERAL else None


def find_language(asked: str, known: Iterable[str], where: str) -> str:
    """The one of the `known` codes that `asked` means; `where` says what it is asked of."""
    codes = sorted(known)
    if asked in codes:
        return asked
    tags = {code: code.replace("_", "-") for code in codes if standard_code(code)}
    try:
        nearest, _ = langcodes.closest_match(asked, list(tags.values()), max_distance=_NEAR)
    except LanguageTagError:
        nearest = "und"
    for code, tag in tags.items():
        if tag == nearest:
            return code
    shown = ", ".join(codes[:8]) + (f" and {len(codes) - 8} more" if len(codes) > 8 else "")
    raise InputError(f"{where}: no language {asked!r}; it has {shown}")
