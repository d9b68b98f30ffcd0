"""Keys come and go with their file, without a restart, and each use is a line of the audit log without the key."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import pytest

from tests.server.fakes import fake_translators
from turia.errors import InputError
from turia.policy.waitk import WaitK
from turia.server.access import LOCAL, Keys
from turia.server.choices import StreamChoice
from turia.server.keyring import KeyFile, note_use, read_keys
from turia.server.limits import Limits
from turia.server.metrics import Metrics
from turia.server.sessions import SessionManager
from turia.server.stores.sqlite import SqliteStore

ONE, TWO, THREE = (f"key-number-{number}-of-many-letters" for number in ("one", "two", "three"))


def written(path: Path, *keys: str) -> None:
    """As an editor does it: a new file takes the place of the old."""
    new = path.with_suffix(".new")
    new.write_text("".join(f"{key}\n" for key in keys))
    os.replace(new, path)


def test_keys_are_replaced_with_their_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    path, revoked = tmp_path / "keys", list[set[str]]()
    written(path, ONE, TWO)
    keys = Keys(read_keys(path))
    one, two = keys.owner(ONE), keys.owner(TWO)
    assert one is not None
    assert two is not None
    file = KeyFile(path, keys, revoked.append)
    file.look()
    assert revoked == []
    written(path, TWO, THREE)
    file.look()
    assert revoked == [{one}]
    assert keys.owner(ONE) is None
    assert (keys.owner(TWO), keys.owner(THREE) is None) == (two, False)
    assert (keys.knows(one), keys.knows(two), keys.knows(LOCAL)) == (False, True, True)
    assert vars(caplog.records[-1]).items() >= {"new": [keys.owner(THREE)], "revoked": [one]}.items()
    assert not any(key in str(list(map(vars, caplog.records))) for key in (ONE, TWO, THREE))


@pytest.mark.parametrize("keys", [(), ("short",), None])
def test_a_file_that_is_none_changes_nothing(
    keys: tuple[str, ...] | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "keys"
    written(path, ONE)
    kept = Keys(read_keys(path))
    file = KeyFile(path, kept, lambda gone: pytest.fail(str(gone)))
    if keys is None:
        path.unlink()
    else:
        written(path, *keys)
    file.look()
    assert kept.owner(ONE) is not None
    assert "the keys of before stay" in caplog.text
    assert "short" not in caplog.text
    with pytest.raises(InputError):
        read_keys(path)


def test_the_speakers_of_a_revoked_key_are_sent_away(tmp_path: Path) -> None:
    async def revoke() -> None:
        manager = SessionManager(fake_translators(), SqliteStore(tmp_path / "sessions.sqlite"), Limits(), Metrics())
        await manager.start()
        readers = {}
        for owner in ("gone", "stays"):
            session_id, _ = await manager.create(owner, StreamChoice("de-en", WaitK(2), punctuation=True))
            session = await manager.find(session_id)
            assert session is not None
            readers[owner] = await manager.join(session, "speaker", await manager.next_turn(session_id))
            readers[f"viewer of {owner}"] = await manager.join(session, "viewer")
        manager.revoke({"gone"})
        refused = {name: reader.refusal for name, reader in readers.items() if reader.refusal is not None}
        assert [(name, found.code, found.retry) for name, found in refused.items()] == [("gone", "key", False)]
        await manager.stop()

    asyncio.run(revoke())


def test_each_use_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    note_use("0123456789ab", "POST /api/sessions")
    assert vars(caplog.records[-1]).items() >= {"key": "0123456789ab", "request": "POST /api/sessions"}.items()
