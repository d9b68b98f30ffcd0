"""The recognisers of `turia serve`: which of them, for which languages."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from turia.commands.extras import has, needs
from turia.errors import InputError
from turia.server.audio import Recognition
from turia.speech.choice import EXTRA_OF, load_factory, parse_choice, parse_language_choice

NONE = "none"
DEFAULT = "moonshine"


def check_recognisers(choices: Sequence[str] | None) -> None:
    """That they can be loaded, as far as that is known without loading them."""
    if not choices or list(choices) == [NONE]:
        return
    languages = [_language(choice) for choice in choices]
    if len(set(languages)) < len(languages):
        raise InputError(f"--recogniser: one for each language, but these are for {', '.join(languages)}")


def load_recognition(
    choices: Sequence[str] | None, spoken: Collection[str], most: int | None = None
) -> Recognition | None:
    """The recognisers that were chosen; without a choice Moonshine, if it is installed and English is `spoken`."""
    if choices is None:
        known = any(language.partition("-")[0] == "en" for language in spoken)
        choices = [DEFAULT] if known and has("audio") and has(EXTRA_OF[DEFAULT]) else [NONE]
    if list(choices) == [NONE]:
        return None
    loaded = {}
    for choice in choices:
        language, rest = parse_language_choice(choice)
        loaded[language] = load_factory(rest, language)
    return Recognition(loaded, most=most)


def _language(choice: str) -> str:
    if choice == NONE:
        raise InputError("--recogniser none: expected nothing beside it")
    language, rest = parse_language_choice(choice)
    what = f"the recogniser {choice}"
    needs("audio", what)
    needs(EXTRA_OF[parse_choice(rest)[0]], what)
    return language
