"""What a client chooses, and what a change of it means for the rest. More of it is in test_captions.py."""

from __future__ import annotations

from tests.server.fakes import fake_translators
from turia.protocol.messages import NewSession, SettingsChange
from turia.server.choices import chosen_anew, chosen_stream
from turia.text.glossary import parse_glossary


def test_the_terms_of_one_direction_are_none_of_another() -> None:
    choice = chosen_stream(fake_translators(), NewSession(glossary="ka\tmi"))
    assert choice.glossary == parse_glossary("ka\tmi")
    assert chosen_anew(choice, SettingsChange(1, k=3)).glossary == choice.glossary
    assert chosen_anew(choice, SettingsChange(1, model="de-en")).glossary == choice.glossary
    assert chosen_anew(choice, SettingsChange(1, model="en-de")).glossary is None
    assert chosen_anew(choice, SettingsChange(1, model="en-de", glossary="le,no")).glossary == parse_glossary("le,no")
    assert chosen_anew(choice, SettingsChange(1, glossary="")).glossary is None
