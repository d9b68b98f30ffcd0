"""A model folder: what is in it, and the checks that come before anything of it is used. docs/model-folder.md shows it.

Rules: a folder says its format's version, and another version is refused. A file counts if SHA256SUMS names it, by a
plain name, and its content has that sum. Keys that this release does not know are passed over (CHANGELOG,
"Compatibility policy"). Nothing is unpickled.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from turia import __version__
from turia.config import MOST_HYPOTHESES, Search
from turia.errors import ConfigError, InputError, ModelError
from turia.policy.dial import DialPoint, check_dial, default_policy
from turia.runtime.shape import Precision, Shape, check_width, upgraded
from turia.schema import AboveZero, Natural, checked, from_dict, to_dict, whole
from turia.system.files import MOST_JSON, check_plain, read_json
from turia.text.normalise import NORMALISATION
from turia.text.subwords import Subwords

FORMAT = 3
"""3 knows rotary positions. 2, of release 0.1, is still read. 1, before that, had weights of 8 bits, which today's
kernels would saturate."""
_READABLE = (2, 3)
AS_GIVEN = 0
"""In place of a version of text/normalise.py's rules: words as they are. A model must be run with what it was trained
on."""

CONFIG_FILE, SUMS_FILE, CARD_FILE = "config.json", "SHA256SUMS", "README.md"
NEW_CARD_FILE, ATTRIBUTES_FILE = "README.new.md", ".gitattributes"
"""What a new export says, beside a card that people have finished; what the hub has to know of large files."""
UNSUMMED = (SUMS_FILE, CARD_FILE, NEW_CARD_FILE, ATTRIBUTES_FILE)
"""People finish the card, and the model stays the same."""
SHORT_SUM = 12
"""Digits of a folder's sum that are shown."""
WEIGHTS_FILE = "weights.bin"
ORIGIN_FILE = "origin.json"
"""Where a model came from that `turia models add` has converted."""
SUBWORDS_FILE, SOURCE_SUBWORDS_FILE, TARGET_SUBWORDS_FILE = (
    "subwords.model",
    "source.subwords.model",
    "target.subwords.model",
)

Side = Literal["encoder", "decoder", "look"]
"""`look` is a decoder that gives the logits and the cross-attention of all rows, for policies that look."""
STREAMS = (1, 4, 8)
"""There is a graph for each side and for so many streams at once; all share one file of weights."""

_OF_POLICIES = ("policy", "dial", "attention_layer", "attention_head")
"""Keys of config.json that a stream with a policy of its own that does not look at attention has no use for."""

_SUM_LINE = re.compile(r"([0-9a-f]{64}) [ *]([^/\\\0]+)")


def graph_file(side: Side, streams: int) -> str:
    return f"{side}.onnx" if streams == 1 else f"{side}-x{streams}.onnx"


@dataclass(frozen=True)
class ModelConfig:
    """What `config.json` says, beside the format's version."""

    source_language: str
    target_language: str
    shape: Shape
    precision: Precision
    gamma: AboveZero
    """Target words to a source word, measured on the training corpus (METHOD section 2)."""
    history: Natural
    """Words of history on either side that streams have unless told otherwise."""
    trained_k: tuple[int, int] | None = None
    """Smallest and largest k; without it, 1 up to the length of a sentence. Of whole sentences alone, `OFFLINE_K`; with
    masks anchored at the window, in its pieces."""
    normalisation: int = NORMALISATION
    beam: Annotated[int, whole(1, MOST_HYPOTHESES)] = 1
    """Hypotheses of the search that streams have unless told otherwise; 1 is greedy."""
    attention_layer: int = -1
    """The decoder layer whose cross-attention policies look at; -1 is the last."""
    attention_head: int | None = None
    """Its head; without it, all heads are averaged."""
    policy: str | None = None
    """The policy that streams have unless told otherwise; without it, wait-k with k = 4."""
    dial: tuple[DialPoint, ...] = ()
    """Points of a policy that were measured, from the soonest to the surest; without them, wait-k's."""
    search: Search = "turia"
    """How a beam over a whole sentence ends."""
    length_penalty: AboveZero = 1.0
    """A beam compares whole translations by log-probability / pieces ** length_penalty: more prefers longer ones."""
    source_piece: int | None = None
    """The piece that a source begins with: its language, or that of the target."""
    target_piece: int | None = None
    """The piece that a target begins with, which says its language."""
    closes_prefixes: bool = False
    """Whether the beginning of a sentence is closed like a whole one, as the model knows no others."""
    recompute: bool = False
    """Whether streams compute the decoder's states of written words again, unless told otherwise."""
    free: bool = False
    """Whether it was trained to work without a segmenter too."""
    recases: bool = False
    """Whether words get the case and the full stops that the model knows from written text."""

    def __post_init__(self) -> None:
        checked(ModelConfig, vars(self))
        check_width("shape", self.shape.width, self.shape.heads, self.shape.positions)
        layers = self.shape.decoder_layers
        if not -layers <= self.attention_layer < layers:
            raise ConfigError(f"attention_layer is {self.attention_layer}, but the decoder has {layers} layers")
        heads = self.shape.heads
        if self.attention_head is not None and not 0 <= self.attention_head < heads:
            raise ConfigError(f"attention_head is {self.attention_head}, but a layer has {heads} heads")
        pieces = {
            "source_piece": (self.source_piece, self.shape.source_vocabulary),
            "target_piece": (self.target_piece, self.shape.target_vocabulary),
        }
        for key, (piece, vocabulary) in pieces.items():
            if piece is not None and not 0 <= piece < vocabulary:
                raise ConfigError(f"{key} is {piece}, but there are {vocabulary} pieces")
        if self.recases and self.normalisation != AS_GIVEN:
            raise ConfigError(
                "recases is true, but the model was trained on words without case: normalisation is not 0"
            )
        if self.closes_prefixes and self.shape.encoder != "bidirectional":
            raise ConfigError(f"closes_prefixes is true, but encoder {self.shape.encoder!r} keeps what it has encoded")
        default_policy(self.policy)
        check_dial(self.dial)

    def subword_files(self) -> tuple[str, str]:
        """Files of the source's and of the target's subwords."""
        return (SUBWORDS_FILE, SUBWORDS_FILE) if self.shape.joint else (SOURCE_SUBWORDS_FILE, TARGET_SUBWORDS_FILE)

    def required_files(self) -> list[str]:
        graphs = [graph_file(side, streams) for streams in STREAMS for side in ("encoder", "decoder")]
        return [CONFIG_FILE, WEIGHTS_FILE, *graphs, *dict.fromkeys(self.subword_files())]


@dataclass(frozen=True)
class ModelFolder:
    """A folder that has passed its checks."""

    path: Path
    config: ModelConfig
    source_subwords: Subwords
    target_subwords: Subwords
    listed: frozenset[str]
    """Files that SHA256SUMS names: no other one counts."""

    @property
    def can_look(self) -> bool:
        """Whether it has graphs for policies that look; folders of release 0.1 have none."""
        return all(graph_file("look", streams) in self.listed for streams in STREAMS)

    def sha256(self) -> str:
        """Of SHA256SUMS, and so of all that the model is; not of its card."""
        return hashlib.sha256((self.path / SUMS_FILE).read_bytes()).hexdigest()

    def translating_sha256(self) -> str:
        """Of what translates, whatever the policy: all of it but the keys that only say which policy is usual, what the
        dial offers and where policies look. A key that says what is meant without it does not count."""
        usual = {item.name: item.default for item in dataclasses.fields(ModelConfig)}
        own = {key for key, value in vars(self.config).items() if key not in _OF_POLICIES and value != usual[key]}
        config = {key: value for key, value in to_dict(self.config).items() if key in own}
        sums = {name: value for name, value in read_sums(self.path).items() if name != CONFIG_FILE}
        return hashlib.sha256(json.dumps([config, sums], sort_keys=True).encode()).hexdigest()


def load_folder(path: Path) -> ModelFolder:
    """The model folder `path`, checked: version, complete, unaltered, vocabularies as the model has them."""
    config = _read_config(path / CONFIG_FILE)
    listed = read_sums(path)
    for name in config.required_files():
        if name not in listed:
            raise ModelError(f"{path}: {name} is not in {SUMS_FILE}; expected a folder that `turia export` has written")
    check_sums(path, listed)
    source_file, target_file = config.subword_files()
    source = Subwords.load(path / source_file)
    target = source if config.shape.joint else Subwords.load(path / target_file)
    sizes = (
        (source_file, len(source), config.shape.source_vocabulary),
        (target_file, len(target), config.shape.target_vocabulary),
    )
    for name, found, wanted in sizes:
        if found != wanted:
            raise ModelError(f"{path / name}: {found} pieces, but the model has {wanted}; they are of two models")
    return ModelFolder(path, config, source, target, frozenset(listed))


def check_sums(folder: Path, sums: Mapping[str, str]) -> None:
    """Raises if one of these files has changed since its sum was written."""
    for name, expected in sums.items():
        if _sum(folder / name) != expected:
            raise ModelError(f"{folder / name}: altered: its SHA-256 sum is not the one in {SUMS_FILE}")


def check_empty(folder: Path) -> None:
    """Refuses a place for a new folder where there is something already."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is there and is no folder; choose another place")
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is there and not empty; choose another place")


def write_config(config: ModelConfig, folder: Path) -> None:
    data = {"format": FORMAT, **to_dict(config)}
    (folder / CONFIG_FILE).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def write_sums(folder: Path) -> None:
    """The sums of all files, such that `sha256sum -c SHA256SUMS` reads them."""
    names = sorted(file.name for file in folder.iterdir() if file.is_file() and file.name not in UNSUMMED)
    lines = [f"{_sum(folder / name)}  {name}\n" for name in names]
    (folder / SUMS_FILE).write_text("".join(lines), encoding="utf-8", newline="\n")


def read_sums(folder: Path) -> dict[str, str]:
    """The sum of each file that counts."""
    path = folder / SUMS_FILE
    try:
        check_plain(path, MOST_JSON)
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file; without sums the model cannot be checked") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    sums = {}
    for number, line in enumerate(lines, start=1):
        match = _SUM_LINE.fullmatch(line)
        if match is None:
            raise ModelError(
                f"{path}:{number}: expected a SHA-256 sum, two spaces and the name of a file of this folder"
            )
        sums[match[2]] = match[1]
    return sums


def _read_config(path: Path) -> ModelConfig:
    data = read_json(path, "a model folder, which `turia export` writes", ModelError)
    found = data.get("format")
    if found not in _READABLE:
        readable = " and ".join(map(str, _READABLE))
        raise ModelError(
            f"{path}: format {found}, this Turia ({__version__}) reads formats {readable}; "
            "install the release that made the model, or export it again with this one"
        )
    shape = data.get("shape")
    try:
        known = _known(Shape, upgraded(shape)) if isinstance(shape, dict) else shape
        config = from_dict(ModelConfig, {**_known(ModelConfig, data), "shape": known})
    except ConfigError as error:
        raise ModelError(f"{path}: {error}") from error
    if config.normalisation not in (AS_GIVEN, NORMALISATION):
        raise ModelError(
            f"{path}: trained on text of normalisation {config.normalisation}, this Turia has {NORMALISATION}; "
            "prepare and train it again"
        )
    return config


def _known(kind: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    names = {item.name for item in dataclasses.fields(kind)}
    return {key: value for key, value in data.items() if key in names}


def _sum(path: Path) -> str:
    try:
        check_plain(path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise ModelError(f"{path}: missing, although {SUMS_FILE} names it; copy the whole folder") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
