"""Glossaries of a server: files for all sessions, and tables that a session brings itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.fakes import fake_translators
from turia.engine.backend import run_steps
from turia.errors import InputError
from turia.protocol.client_messages import NewSession, SettingsChange, parse_client
from turia.protocol.events import SettingsInForce
from turia.protocol.values import ProtocolError
from turia.server.captions import Captions, Word
from turia.server.choices import Translators, check_change, chosen_stream
from turia.server.fanout import choices_of
from turia.server.glossaries import Table, follow_glossaries, parse_tables
from turia.server.progress import Progress
from turia.stream.trace import Note, Write
from turia.text.glossary import parse_glossary


def say(captions: Captions, *words: str) -> list[str]:
    """What is written for a sentence."""
    first = captions.progress.inputs + 1
    inputs = [Word(first + place, word) for place, word in enumerate(words)]
    events = run_steps(captions.apply(inputs, lambda: 0.0), captions.model.backend)
    return [event.word for event in events if isinstance(event, Write)]


def begin(translators: Translators, glossary: str | None = None) -> tuple[Captions, SettingsInForce]:
    captions, event = Captions.begin(translators, chosen_stream(translators, NewSession(k=1, glossary=glossary)))
    assert isinstance(event, SettingsInForce)
    return captions, event


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text("leta\tpuso\n")
    return path


def test_sessions_follow_the_servers_file(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turia.runtime.glossary_file.LOOK_SECONDS", 0.0)
    translators = fake_translators()
    follow_glossaries(translators, [Table("de-en", table)])
    captions, event = begin(translators)
    assert event.terms == 1
    assert say(captions, "ka", "leta", "mi.") == ["ka", "puso", "mi"]
    table.write_text("leta\tnonde\nmi\tra\n")
    assert say(captions, "ka", "leta", "mi.") == ["ka", "nonde", "ra"]
    restored = Captions.restore(translators, captions.state(), captions.progress)
    assert say(restored, "ka", "leta", "mi.") == ["ka", "nonde", "ra"]


def test_a_sessions_own_table_holds_in_place_of_the_servers(table: Path) -> None:
    translators = fake_translators()
    follow_glossaries(translators, [Table("de-en", table)])
    captions, _ = begin(translators, "leta\tminde")
    assert say(captions, "ka", "leta.") == ["ka", "minde"]
    captions = Captions.restore(translators, captions.state(), captions.progress)
    assert say(captions, "ka", "leta.") == ["ka", "minde"]
    change = SettingsChange(captions.progress.inputs + 1, glossary="leta\tra")
    [event] = run_steps(captions.apply([change], lambda: 0.0), captions.model.backend)
    assert isinstance(event, SettingsInForce)
    assert say(captions, "ka", "leta.") == ["ka", "ra"]
    back = SettingsChange(captions.progress.inputs + 1, glossary="")
    run_steps(captions.apply([back], lambda: 0.0), captions.model.backend)
    assert say(captions, "ka", "leta.") == ["ka", "puso"]


def test_tables_on_the_wire_are_checked_without_repeating_them() -> None:
    message = parse_client('{"type":"settings","seq":1,"glossary":"ka,mi"}')
    assert message == SettingsChange(1, glossary="ka,mi")
    with pytest.raises(ProtocolError) as error:
        parse_client('{"type":"settings","seq":1,"glossary":"secret,mi,never"}')
    assert "secret" not in str(error.value)
    assert "a table of at most 1000 terms" in str(error.value)
    translators = fake_translators()
    choice = chosen_stream(translators, NewSession())
    with pytest.raises(ProtocolError, match="cannot spell a term of the glossary"):
        check_change(translators, choice, SettingsChange(1, glossary="ka\t" + "z" * 60))


def test_files_are_for_one_model_each(table: Path) -> None:
    assert parse_tables([str(table), f"de-en={table}"]) == (Table(None, table), Table("de-en", table))
    translators = fake_translators()
    with pytest.raises(InputError, match=rf"--glossary {table}: say for which model: de-en={table}"):
        follow_glossaries(translators, [Table(None, table)])
    with pytest.raises(InputError, match="no such model here; there are de-en, en-de"):
        follow_glossaries(translators, [Table("fr-en", table)])
    with pytest.raises(InputError, match="de-en has a glossary already"):
        follow_glossaries(translators, [Table("de-en", table), Table("de-en", table)])
    with pytest.raises(InputError, match="cannot read the glossary"):
        parse_tables(["none.csv"])
    only = {"de-en": fake_translators()["de-en"]}
    follow_glossaries(only, [Table(None, table)])
    assert only["de-en"].glossary_file is not None


def test_a_note_says_when_other_terms_hold(table: Path) -> None:
    captions, _ = begin(fake_translators())
    run_steps(captions.apply([SettingsChange(1, glossary=table.read_text())], lambda: 0.0), captions.model.backend)
    events = run_steps(captions.apply([Word(2, "ka")], lambda: 0.0), captions.model.backend)
    [note] = [event for event in events if isinstance(event, Note)]
    assert note.kind == "settings"
    assert note.detail.startswith("glossary 1 term (")
    assert captions.progress == Progress(2, 5, False)


def test_a_sessions_table_is_that_of_its_first_language_alone() -> None:
    translators = fake_translators(names=("de-en", "de-fr"))
    first, other = choices_of(translators, NewSession(model="de-en", also=("de-fr",), glossary="no\tpu"))
    assert first.glossary == parse_glossary("no\tpu")
    assert other.glossary is None
