"""A model folder as the Hugging Face hub wants it: a card with the hub's front matter, and large files marked for LFS.

The folder stays a model folder: `--model` takes it, before it was uploaded and after it was downloaded. Its card and
its .gitattributes are not in SHA256SUMS: people edit them, on the hub too.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from turia.errors import InputError, ResourceError
from turia.runtime.card import body, front_lines, front_matter, read_card
from turia.runtime.folder import ATTRIBUTES_FILE, CARD_FILE, CONFIG_FILE, ModelConfig, check_empty, load_folder
from turia.runtime.home import named_model
from turia.runtime.translator import find_model
from turia.system.files import write_file

LICENCES = (
    *("apache-2.0", "mit", "bsd-3-clause", "gpl-3.0", "lgpl-3.0", "mpl-2.0", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0"),
    *("cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-4.0", "openrail", "unknown", "other"),
)
"""Identifiers of the hub, those that a translation model is likely to have; `other` is one of them."""
LARGE = ("*.onnx", "*.bin", "*.model", "*.weights")
TAGS = ("translation", "streaming", "simultaneous-translation", "wait-k", "onnx")


def is_model(model: str) -> bool:
    """Whether it is the name or the folder of an exported model, and not a run, say."""
    return named_model(model) is not None or (Path(model) / CONFIG_FILE).is_file()


def check_licence(licence: str) -> None:
    """Refuses a licence that may be none of the hub's names."""
    if licence not in LICENCES:
        raise InputError(f"licence {licence!r} is not one that Turia knows; expected one of {', '.join(LICENCES)}")


def copy_model(model: str, folder: Path) -> None:
    """Copies an exported model, by its name or folder, to `folder`."""
    found = load_folder(find_model(model)).path
    check_empty(folder)
    read_card(found)  # before it is copied: it may be refused
    try:
        shutil.copytree(found, folder, dirs_exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{folder}: cannot be written: {error}") from error


def make_hub_folder(folder: Path, licence: str | None = None) -> None:
    """Gives the model folder `folder` the hub's card and attributes; without `licence`, the card's own stays."""
    if licence is not None:
        check_licence(licence)
    config = load_folder(folder).config
    card = read_card(folder)
    try:
        write_file(folder / CARD_FILE, hub_card(card, config, licence))
        lines = [f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in LARGE]
        write_file(folder / ATTRIBUTES_FILE, "".join(lines))
    except OSError as error:
        raise ResourceError(f"{folder}: cannot be written: {error.strerror}") from error
    load_folder(folder)


def hub_card(card: str, config: ModelConfig, licence: str | None) -> str:
    """The card with the hub's keys in its front matter. What it says already stays: people finish it.

    Only `licence` replaces what is there. Data and scores are quoted, as not all of them are YAML otherwise.
    """
    said, lines = front_matter(card), front_lines(card)
    wanted: dict[str, str | tuple[str, ...]] = {
        "language": (config.source_language, config.target_language),
        "license": licence or "unknown",
        "library_name": "turia",
        "pipeline_tag": "translation",
        "tags": TAGS,
        "data": said.get("data", ()),
        "scores": said.get("scores", ()),
    }
    lines.pop("languages", None)  # ours, for which the hub has `language`
    matter = ["---", *lines.pop("", [])]
    for key, value in wanted.items():
        there = lines.pop(key, [])
        replaced = key in ("data", "scores") or (key == "license" and licence is not None)
        matter += there if said.get(key) and not replaced else _yaml(key, value)
    return "\n".join([*matter, *(line for own in lines.values() for line in own), "---", "", body(card)])


def _yaml(key: str, value: str | tuple[str, ...]) -> list[str]:
    """The lines of a key; none, if there is nothing to say."""
    if isinstance(value, str):
        return [f"{key}: {json.dumps(value, ensure_ascii=False)}"]
    return [f"{key}:", *(f"- {json.dumps(item, ensure_ascii=False)}" for item in value)] if value else []
