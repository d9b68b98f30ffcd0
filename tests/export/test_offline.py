"""Models of other people: our logits are theirs, greedy and beam search write what `generate` writes, and they stream.

All models are made by transformers, with random weights that have learnt to come to an end.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.export.m2m_checkpoint import write_m2m
from tests.export.marian_checkpoint import write_checkpoint
from tests.text.pieces import encode_words
from turia.config import OFFLINE_K
from turia.engine.backend import DecodeRequest, EncodeRequest, run_steps
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.engine.window import History
from turia.engine.writer import Writer
from turia.errors import ModelError
from turia.export.families import FIRST
from turia.export.offline import POLICY, Origin, Wanted, convert
from turia.export.random_model import made_up_words
from turia.runtime.card import front_matter
from turia.runtime.folder import AS_GIVEN, CARD_FILE, ORIGIN_FILE, load_folder
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Write
from turia.text.symbols import BRK_ID, DOC_ID

pytestmark = pytest.mark.slow

TOLERANCE = 1e-4
FAMILIES = ("opus-mt-de-en", "opus-mt-de-mul", "m2m100", "nllb-200")


@dataclass(frozen=True)
class Pair:
    """A model in transformers, and the same one converted."""

    checkpoint: Path
    theirs: Any
    ours: Translator

    @property
    def end(self) -> int:
        return int(self.theirs.config.eos_token_id)

    def source(self, pieces: list[int]) -> list[int]:
        """As the model's tokenizer lays a source out; `pieces` by its own ids."""
        first = self.ours.model.source_piece
        return [*([] if first is None else [first - FIRST]), *pieces, self.end]

    def opening(self) -> list[int]:
        """What the decoder starts with."""
        forced = self.ours.model.target_piece
        start = int(self.theirs.config.decoder_start_token_id)
        return [start, *([] if forced is None else [forced - FIRST])]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pair]:
    place = tmp_path_factory.mktemp("offline")
    made = {}
    for name in FAMILIES:
        checkpoint, wanted = place / name, Wanted(precision="float32")
        if name == "m2m100" or name == "nllb-200":
            theirs: Any = write_m2m(checkpoint, "m2m" if name == "m2m100" else "nllb")
            wanted = Wanted("de", "en", precision="float32")
        elif name == "opus-mt-de-mul":
            theirs = write_checkpoint(checkpoint, ("deu", "eng", "fra"))
            wanted = Wanted(target="en", precision="float32")
        else:
            theirs = write_checkpoint(checkpoint)
        convert(checkpoint, place / f"{name}-model", wanted, Origin(name, licence="cc-by-4.0"), {})
        made[name] = Pair(checkpoint, theirs, Translator.load(place / f"{name}-model"))
    return made


@pytest.fixture(params=FAMILIES)
def pair(request: pytest.FixtureRequest, pairs: dict[str, Pair]) -> Pair:
    return pairs[request.param]


def as_theirs(logits: np.ndarray, pair: Pair) -> np.ndarray:
    """Our logits in the order of their pieces; what is never predicted is left out by `told_apart`."""
    pieces = logits[FIRST:].copy()
    pieces[pair.end] = logits[BRK_ID]
    return pieces


def told_apart(pair: Pair) -> np.ndarray:
    """Their pieces that we predict: not the padding, and not what is unknown."""
    subwords = pair.ours.model.target_subwords
    predicted = ~subwords.is_control[FIRST:]
    predicted[pair.end] = True
    return predicted


def test_logits_are_theirs(pair: Pair) -> None:
    chance, model = np.random.default_rng(1), pair.ours.model
    for length, rows in ((1, 1), (7, 5), (60, 40)):
        source = pair.source(chance.integers(10, 100, length).tolist())
        target = [*pair.opening(), *chance.integers(10, 100, rows).tolist()]
        with torch.no_grad():
            result = pair.theirs(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]))
        expected = result.logits[0, -1].numpy()
        source_ids = np.array([FIRST + piece for piece in source[:-1]] + [BRK_ID])
        target_ids = np.array([DOC_ID] + [FIRST + piece for piece in target[1:]])
        full, limit = np.full(len(source_ids), len(source_ids)), np.full(len(target_ids), len(source_ids))
        [memory] = model.backend.encode([EncodeRequest(None, source_ids, full)])
        [(_, found)] = model.backend.decode([DecodeRequest(None, memory, target_ids, limit)])
        predicted = told_apart(pair)
        assert np.abs(as_theirs(found, pair) - expected)[predicted].max() < TOLERANCE
        assert predicted.sum() > 100


def written(pair: Pair, words: list[str], beam: int) -> tuple[list[int], int]:
    """The pieces that the engine's search writes for a whole sentence, and how many it may write at most."""
    model = pair.ours.model
    writer = Writer(model, Settings(beam=beam, history=0), History())
    for word in words:
        writer.source.add(model.source_subwords.encode_word(word))
    writer.closing = BRK_ID
    most = writer._most_pieces()
    while len(writer.target.ids) < most and run_steps(writer.write_word(), model.backend) is not None:
        pass
    return [piece - FIRST for piece in writer.target.ids], most


def generated(pair: Pair, words: list[str], beam: int, most: int) -> list[int]:
    """What `generate` writes under the engine's rules for words: text alone, and a word first."""
    model = pair.ours.model
    subwords = model.target_subwords
    source, _ = encode_words(model.source_subwords, words)
    never = [piece for piece in np.flatnonzero(subwords.is_control[FIRST:]).tolist() if piece != pair.end]
    first = np.flatnonzero(~subwords.starts_word[FIRST:]).tolist()
    opening = pair.opening()
    with torch.no_grad():
        found = pair.theirs.generate(
            torch.tensor([pair.source([piece - FIRST for piece in source])]),
            forced_bos_token_id=opening[1] if len(opening) > 1 else None,
            forced_eos_token_id=None, bad_words_ids=None,
            suppress_tokens=[piece for piece in never if piece not in opening[1:]],
            begin_suppress_tokens=[piece for piece in first if piece != pair.end],
            renormalize_logits=True, num_beams=beam, do_sample=False, early_stopping=False, length_penalty=1.0,
            max_new_tokens=most + len(opening) - 1,
        )[0].tolist()  # fmt: skip
    pieces: list[int] = found[len(opening) :]
    return pieces[: pieces.index(pair.end)] if pair.end in pieces else pieces


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_the_search_writes_what_generate_writes(pair: Pair, beam: int) -> None:
    chance, compared = np.random.default_rng(7), 0
    for length in (1, 3, 4, 6, 9, 12):
        words = chance.choice(made_up_words()[:300], length).tolist()
        found, most = written(pair, words, beam)
        expected = generated(pair, words, beam, most)
        if len(expected) < most:
            assert found == expected
            compared += bool(expected)
    assert compared > 2, "sentences that end"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"beam": 3},
        {"recompute": True},
        {"policy": "alignatt:f=1"},
        {"policy": "wait-k:k=2,rounding=floor"},
        {"policy": "wait-k:k=2,rounding=floor", "beam": 2},
    ],
    ids=str,
)
def test_it_streams_and_survives_a_restart(settings: dict[str, Any], pairs: dict[str, Pair]) -> None:
    for pair in (pairs["opus-mt-de-mul"], pairs["nllb-200"]):
        words = made_up_words()[:12]

        def translated(restart: bool, ours: Translator = pair.ours, words: list[str] = words) -> list[tuple[str, int]]:
            stream, records = ours.stream(punctuation=True, **settings), []
            assert stream.header()["policy"] == settings.get("policy", POLICY)
            for word in words:
                records += stream.push(word)
                if restart:
                    stream = ours.restore(json.loads(json.dumps(stream.state())))
            records += stream.flush()
            return [(record.word, record.read) for record in records if isinstance(record, Write)]

        once = translated(restart=False)
        assert once == translated(restart=True)
        assert once
        if "wait-k" in settings.get("policy", ""):
            assert once[0][1] < len(words)


def test_written_words_are_not_decoded_again(pairs: dict[str, Pair]) -> None:
    """The state of what is written is kept; only the row that shows the end of a word looks again."""
    ours = pairs["opus-mt-de-en"].ours
    rows: list[int] = []

    class Counting:
        can_look, gives_states = True, False

        def __init__(self) -> None:
            self.encode, self.look = ours.model.backend.encode, ours.model.backend.look

        def decode(self, requests: Any) -> Any:
            rows.extend(len(request.ids) for request in requests)
            return ours.model.backend.decode(requests)

    stream = Stream(replace(ours.model, backend=Counting()), GivenSegmenter([12]), Settings(k=2, history=0))
    records = [record for word in made_up_words()[:12] for record in stream.push(word)]
    assert len([record for record in records if isinstance(record, Write)]) > 3
    assert set(rows) == {1}


def test_the_folder_says_what_the_model_knows(pairs: dict[str, Pair]) -> None:
    folder = load_folder(pairs["nllb-200"].ours.folder)
    config = folder.config
    assert (config.trained_k, config.history, config.normalisation) == ((OFFLINE_K, OFFLINE_K), 0, AS_GIVEN)
    assert (config.policy, config.search, config.closes_prefixes) == (POLICY, "generate", True)
    assert json.loads((folder.path / ORIGIN_FILE).read_text(encoding="utf-8"))["licence"] == "cc-by-4.0"
    card = front_matter((folder.path / CARD_FILE).read_text(encoding="utf-8"))
    assert (card["languages"], card["license"]) == (("de", "en"), ("cc-by-4.0",))


def test_int8_is_close(pairs: dict[str, Pair], tmp_path: Path) -> None:
    pair = pairs["m2m100"]
    convert(pair.checkpoint, tmp_path / "int8", Wanted("de", "en"), Origin("m2m100"), {})
    rounded = Translator.load(tmp_path / "int8")
    source, _ = encode_words(rounded.model.source_subwords, made_up_words()[:6])
    assert rounded.model.source_piece is not None
    assert rounded.model.target_piece is not None
    source_ids = np.array([rounded.model.source_piece, *source, BRK_ID])
    target_ids, limit = np.array([DOC_ID, rounded.model.target_piece]), np.full(2, len(source_ids))
    logits = []
    for model in (pair.ours.model, rounded.model):
        [memory] = model.backend.encode([EncodeRequest(None, source_ids, np.full(len(source_ids), len(source_ids)))])
        [(_, found)] = model.backend.decode([DecodeRequest(None, memory, target_ids, limit)])
        logits.append(found[~model.target_subwords.is_control])
    assert np.corrcoef(logits[0], logits[1])[0, 1] > 0.99


def test_too_few_positions_are_refused(pairs: dict[str, Pair], tmp_path: Path) -> None:
    copy = shutil.copytree(pairs["opus-mt-de-en"].checkpoint, tmp_path / "opus-mt-de-en")
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    (copy / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 64}), encoding="utf-8")
    with pytest.raises(ModelError, match="64 positions; a stream needs 84"):
        convert(copy, tmp_path / "model", Wanted(), Origin("opus-mt-de-en"), {})
    assert not (tmp_path / "model").exists()
