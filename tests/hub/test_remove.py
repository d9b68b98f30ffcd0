"""An added model can be removed; nothing else can."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.errors import InputError
from turia.hub.remove import remove


def test_added_models_are_removed_and_no_others(home: Path) -> None:
    for name in ("one", "two"):
        (home / name).mkdir(parents=True)
        (home / name / "config.json").write_text("{}", encoding="utf-8")
    (home / "notes").mkdir()
    assert remove("one") == home / "one"
    assert sorted(path.name for path in home.iterdir()) == ["notes", "two"]
    with pytest.raises(InputError, match="model 'de-en' came with Turia and stays"):
        remove("de-en")
    for name in ("one", "notes", "../models/two", "."):
        with pytest.raises(InputError, match=r"was added; added models: two"):
            remove(name)
    assert (home / "two" / "config.json").exists()
