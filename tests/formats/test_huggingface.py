"""Folders for the Hugging Face hub: its own library reads the card, and the folder still loads."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from huggingface_hub.repocard import metadata_load

from turia.commands.models import installed
from turia.errors import InputError, ModelError
from turia.formats.huggingface import copy_model, hub_card, make_hub_folder
from turia.runtime.folder import WEIGHTS_FILE, load_folder, write_sums
from turia.runtime.translator import Translator

CARD = """---
languages:
- de
- en
data:
- europarl/de-en: "v9"
scores:
- BLEU 20.1 (k 4, dev)
---

# German → English

--- Not front matter.
"""


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    copied = shutil.copytree(model_folder, tmp_path / "model")
    (copied / "README.md").write_text(CARD, encoding="utf-8")
    write_sums(copied)
    return copied


def test_the_hubs_library_reads_the_card(folder: Path) -> None:
    make_hub_folder(folder, "cc-by-4.0")
    card = ModelCard.load(folder / "README.md")
    data = card.data.to_dict()
    assert data["language"] == ["de", "en"]
    assert (data["license"], data["library_name"], data["pipeline_tag"]) == ("cc-by-4.0", "turia", "translation")
    assert all(re.fullmatch(r"[a-z0-9-]+", tag) for tag in data["tags"])
    assert data["data"] == ['europarl/de-en: "v9"']
    assert data["scores"] == ["BLEU 20.1 (k 4, dev)"]
    assert card.text.strip() == "# German → English\n\n--- Not front matter."
    assert metadata_load(folder / "README.md") == data


def test_it_is_still_a_model_folder_even_when_its_card_is_edited(folder: Path) -> None:
    make_hub_folder(folder)
    (model,) = installed([str(folder)])
    assert model.scores == ("BLEU 20.1 (k 4, dev)",)
    (folder / "README.md").write_text("edited on the hub", encoding="utf-8")
    (folder / ".gitattributes").write_text("", encoding="utf-8")
    Translator.load(folder).stream(k=2)
    make_hub_folder(folder)
    with (folder / WEIGHTS_FILE).open("ab") as file:
        file.write(b"x")
    with pytest.raises(ModelError, match="altered"):
        Translator.load(folder)


EDITED = """---
# as the hub's template begins: with a comment
license: cc-by-nd-4.0
tags:
- speeches
base_model: somebody/other
model-index:
- name: mine
  results:
  - task: {type: translation}
scores:
- BLEU 20.1 (k 4, dev)
---

# Finished by people
"""


def test_what_people_added_to_the_front_matter_stays(folder: Path) -> None:
    card = folder / "README.md"
    card.write_text(EDITED, encoding="utf-8")
    make_hub_folder(folder)
    found = metadata_load(card)
    assert found is not None
    assert (found["license"], found["tags"], found["base_model"]) == ("cc-by-nd-4.0", ["speeches"], "somebody/other")
    assert found["model-index"] == [{"name": "mine", "results": [{"task": {"type": "translation"}}]}]
    assert (found["language"], found["library_name"]) == (["de", "en"], "turia")
    assert "# as the hub's template begins" in card.read_text(encoding="utf-8")
    make_hub_folder(folder, "mit")
    assert metadata_load(card) == {**found, "license": "mit"}


def test_large_files_go_to_lfs(folder: Path) -> None:
    make_hub_folder(folder)
    attributes = (folder / ".gitattributes").read_text(encoding="utf-8")
    large = [file for file in folder.iterdir() if file.stat().st_size > 100_000]
    assert large
    for file in large:
        assert f"*{file.suffix} filter=lfs" in attributes


def test_a_licence_that_the_hub_does_not_know(folder: Path) -> None:
    with pytest.raises(InputError, match="licence 'free' is not one that Turia knows"):
        make_hub_folder(folder, "free")


def test_a_card_made_twice_is_the_card_made_once(folder: Path) -> None:
    config = load_folder(folder).config
    card = CARD.replace('europarl/de-en: "v9"', r'talks: "a \ b"')
    once = hub_card(card, config, "mit")
    assert hub_card(once, config, "mit") == once
    assert r'- "talks: \"a \\ b\""' in once


def test_a_card_that_is_not_utf_8_is_refused_and_stays(folder: Path, tmp_path: Path) -> None:
    card = folder / "README.md"
    card.write_bytes(b"M\xfcller")
    with pytest.raises(ModelError, match="not UTF-8 at byte 1"):
        make_hub_folder(folder)
    assert card.read_bytes() == b"M\xfcller"
    with pytest.raises(ModelError, match="not UTF-8 at byte 1"):
        copy_model(str(folder), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
