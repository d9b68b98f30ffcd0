"""What a client chooses, and what a change of it means for the rest. More of it is in test_captions.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engine.fakes import Echo
from tests.server.fakes import FakeTranslator, fake_translators
from turia.policy.holdn import HoldN
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole
from turia.protocol.client_messages import NewSession, SettingsChange
from turia.protocol.values import ProtocolError
from turia.server.choices import StreamChoice, check_change, chosen_anew, chosen_stream, policy_keys, policy_of
from turia.text.glossary import parse_glossary

TRANSLATORS = fake_translators()


def test_the_terms_of_one_direction_are_none_of_another() -> None:
    choice = chosen_stream(TRANSLATORS, NewSession(glossary="ka\tmi"))
    assert choice.glossary == parse_glossary("ka\tmi")
    assert chosen_anew(TRANSLATORS, choice, SettingsChange(1, k=3)).glossary == choice.glossary
    assert chosen_anew(TRANSLATORS, choice, SettingsChange(1, model="de-en")).glossary == choice.glossary
    assert chosen_anew(TRANSLATORS, choice, SettingsChange(1, model="en-de")).glossary is None
    both = chosen_anew(TRANSLATORS, choice, SettingsChange(1, model="en-de", glossary="le,no"))
    assert both.glossary == parse_glossary("le,no")
    assert chosen_anew(TRANSLATORS, choice, SettingsChange(1, glossary="")).glossary is None


def test_a_new_k_keeps_the_rest_of_wait_k_and_takes_the_place_of_any_other_policy() -> None:
    assert policy_of(3, None, WaitK(9, rounding="ceil")) == WaitK(3, rounding="ceil")
    assert policy_of(3, None, HoldN(2)) == WaitK(3)
    assert policy_of(None, "hold-n:n=2", WaitK(9)) == HoldN(2)
    assert policy_of(None, None, HoldN(2)) == HoldN(2)


def test_messages_and_stored_sessions_have_the_usual_wait_k_as_a_k() -> None:
    assert policy_keys(WaitK(7)) == (7, None)
    for policy in (WaitK(7, rounding="ceil"), WaitK(1000), HoldN(2), Whole()):
        k, text = policy_keys(policy)
        assert (k, policy_of(k, text, WaitK())) == (4, policy)


def test_who_chooses_a_policy_does_not_want_it_moved() -> None:
    choice = StreamChoice("de-en", WaitK(3), punctuation=True, target_lag="3s")
    assert chosen_anew(TRANSLATORS, choice, SettingsChange(1, k=5)).target_lag is None
    assert chosen_anew(TRANSLATORS, choice, SettingsChange(1, policy="hold-n:n=2")).target_lag is None
    assert chosen_anew(TRANSLATORS, choice, SettingsChange(1, model="en-de")).target_lag == "3s"
    both = chosen_anew(TRANSLATORS, choice, SettingsChange(1, k=5, target_lag="2s"))
    assert (both.policy, both.target_lag) == (WaitK(5), "2s")


def test_who_has_a_model_s_own_policy_gets_that_of_the_next_model() -> None:
    """Which may be unable to run the first one's."""
    translators = fake_translators()
    translators["en-de"].model = replace(translators["en-de"].model, policy=HoldN(2))
    usual = chosen_stream(translators, NewSession("de-en"))
    assert usual.policy == WaitK(4)
    other = chosen_anew(translators, usual, SettingsChange(1, model="en-de"))
    assert other.policy == HoldN(2)
    assert chosen_anew(translators, other, SettingsChange(1, model="de-en")).policy == WaitK(4)
    assert chosen_anew(translators, usual, SettingsChange(1, model="en-de", k=7)).policy == WaitK(7)
    chosen = chosen_stream(translators, NewSession("de-en", policy="hold-n:n=5"))
    assert chosen_anew(translators, chosen, SettingsChange(1, model="en-de")).policy == HoldN(5)


def test_what_a_change_leaves() -> None:
    blind = Echo()
    blind.can_look = False
    translators = {**fake_translators(), "de-fr": FakeTranslator("de-fr", blind)}
    choice = StreamChoice("de-fr", WaitK(3), punctuation=True, target_lag="3s")
    assert check_change(translators, choice, SettingsChange(1, k=5)) == replace(
        choice, policy=WaitK(5), target_lag=None
    )
    # Of what the model cannot have, the rest is taken: a note tells of it.
    assert check_change(translators, choice, SettingsChange(1, policy="alignatt:f=2")) == choice
    terms = check_change(translators, choice, SettingsChange(1, policy="alignatt:f=2", glossary="ka\tmi"))
    assert terms == replace(choice, glossary=parse_glossary("ka\tmi"))
    moved = check_change(translators, choice, SettingsChange(1, model="de-en", policy="alignatt:f=2"))
    assert (moved.model, str(moved.policy)) == ("de-en", "alignatt:f=2")
    with pytest.raises(ProtocolError, match="cannot be run with policy alignatt:f=2"):
        check_change(translators, moved, SettingsChange(1, model="de-fr"))
