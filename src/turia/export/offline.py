"""Models of other people, made for whole sentences, as model folders: Marian (OPUS-MT), M2M-100, NLLB-200.

Nothing is computed: weights are renamed and rounded, and pieces get new ids (families.py, vocabulary.py). The encoder
is bidirectional, so at each READ the prefix is encoded again. The model knows no prefixes, no history and no text
without case: its config says so, and names the policy that suits it. Needs onnx, not torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from turia import __version__
from turia.config import OFFLINE_K
from turia.engine.settings import LEAST_POSITIONS, Settings
from turia.errors import ModelError
from turia.export.families import OurWeights, read_checkpoint
from turia.export.folder import write_tensors
from turia.export.tensors import graph_tensors
from turia.export.vocabulary import find_languages, read_vocabulary
from turia.runtime.folder import AS_GIVEN, ORIGIN_FILE, ModelConfig
from turia.runtime.shape import Precision

POLICY = "hold-n:n=2"
"""Of models that never saw the beginning of a sentence without its end: the best at equal latency (docs/models.md)."""


@dataclass(frozen=True)
class Origin:
    """Where a converted model came from."""

    id: str
    """On the hub, or the folder's name."""
    revision: str | None = None
    """The commit on the hub."""
    licence: str | None = None
    """As the hub names it."""
    endpoint: str | None = None
    """The address of the hub."""


@dataclass(frozen=True)
class Wanted:
    """What a person may choose when a model is converted."""

    source: str | None = None
    target: str | None = None
    precision: Precision = "int8"
    gamma: float = 1.0
    beam: int = 1
    policy: str = POLICY
    recases: bool = False
    """Whether streams give words case and full stops, as their recogniser does not."""


def convert(
    checkpoint: Path, folder: Path, wanted: Wanted, origin: Origin, segmenters: Mapping[str, Sequence[Path]]
) -> ModelConfig:
    """Writes the model folder `folder` from the checkpoint in a folder of Hugging Face's layout.

    `segmenters` are the files of a segmenter by its language; the source's is put beside the model, if it is there.
    """
    Settings(policy=wanted.policy, gamma=wanted.gamma, beam=wanted.beam)  # refuses what no stream could have
    read = read_checkpoint(checkpoint, origin.id.rpartition("/")[2])
    vocabulary = read_vocabulary(read)
    languages = find_languages(vocabulary, wanted.source, wanted.target)
    subwords = vocabulary.subwords()
    shape = read.shape(vocabulary.joint, source_opening=languages.source_piece is not None)
    if shape.max_positions < LEAST_POSITIONS:
        raise ModelError(f"{checkpoint}: {shape.max_positions} positions; a stream needs {LEAST_POSITIONS}")
    config = ModelConfig(
        languages.source,
        languages.target,
        shape,
        wanted.precision,
        gamma=wanted.gamma,
        history=0,
        trained_k=(OFFLINE_K, OFFLINE_K),
        normalisation=AS_GIVEN,
        beam=wanted.beam,
        policy=wanted.policy,
        search="generate",
        source_piece=languages.source_piece,
        target_piece=languages.target_piece,
        closes_prefixes=True,
        recases=wanted.recases,
    )
    tensors = graph_tensors(shape, OurWeights(read, shape, vocabulary.unknown), wanted.precision)
    with TemporaryDirectory(prefix="turia-") as made:
        for name, pieces in zip(dict.fromkeys(config.subword_files()), subwords, strict=True):
            pieces.save(Path(made) / name)
        record = Path(made) / ORIGIN_FILE
        record.write_text(json.dumps(asdict(origin) | {"model_type": read.model_type}, indent=1), encoding="utf-8")
        segmenter = segmenters.get(languages.source, ())
        write_tensors(folder, config, tensors, card(config, origin), Path(made), [*segmenter, record])
    return config


def card(config: ModelConfig, origin: Origin) -> str:
    """README.md of a converted model."""
    at = f", revision {origin.revision}" if origin.revision else ""
    lines = [
        "---",
        "languages:",
        f"- {config.source_language}",
        f"- {config.target_language}",
        f"license: {json.dumps(origin.licence or 'unknown', ensure_ascii=False)}",
        f"base_model: {json.dumps(origin.id, ensure_ascii=False)}",
        "---",
        "",
        f"# {origin.id}: {config.source_language} → {config.target_language}",
        "",
        f"Converted by Turia {__version__} from {origin.id}{at}. Its licence is {origin.licence or 'not said'}.",
        "Its data, its quality and its limits are described where it came from.",
        "",
        "It was trained on whole sentences with case and punctuation, and never saw the beginning of a sentence",
        f"without its end. Streams use the policy {config.policy} unless told otherwise.",
        "",
    ]
    return "\n".join(lines)
