"""Marian models: our logits are Marian's, in torch and in ONNX; they stream, and they can be adapted."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import sentencepiece
import torch

from tests.export.marian_checkpoint import write_checkpoint
from tests.text.pieces import encode_words
from tests.training.toy import TINY
from turia.cli import main
from turia.config import OFFLINE_K, Recipe
from turia.corpus.prepare import prepare
from turia.corpus.shards import load_subwords
from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import ConfigError, InputError, ModelError
from turia.experiments.bench_script import ScriptedBackend, speech
from turia.export.families import FIRST
from turia.export.random_model import made_up_words
from turia.model.checkpoint import load_json, load_model
from turia.runtime.folder import CARD_FILE, load_folder
from turia.runtime.graphs import Runtime
from turia.runtime.translator import Translator
from turia.schema import load_toml
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Note, SentenceEnd, Write
from turia.text.symbols import BRK_ID, CLOSING_IDS, DOC_ID, WORD_END
from turia.training.export.from_marian import import_marian
from turia.training.export.run import export_run
from turia.training.loop import train
from turia.training.run import RunFolder

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from transformers import MarianMTModel

TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("marian")


@pytest.fixture(scope="module")
def marian(place: Path) -> MarianMTModel:
    return write_checkpoint(place / "opus-mt-de-en")


@pytest.fixture(scope="module")
def run(place: Path, marian: MarianMTModel) -> Path:
    return import_marian(place / "opus-mt-de-en", place / "run")


@pytest.fixture(scope="module")
def folder(place: Path, run: Path) -> Path:
    export_run(run, place / "model", "float32")
    return place / "model"


@torch.no_grad()
def their_logits(marian: MarianMTModel, source: list[int], target: list[int]) -> np.ndarray:
    """[rows, V] for the pieces of a source with its end symbol, and of a target with what it starts with."""
    result = marian(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]))
    return np.asarray(result.logits[0].numpy())


def as_theirs(logits: np.ndarray, marian: MarianMTModel) -> np.ndarray:
    """Our logits in the order of Marian's pieces; its padding is never predicted."""
    pieces = logits[..., FIRST:].copy()
    pieces[..., 0] = logits[..., BRK_ID]
    pieces[..., 1] = logits[..., 1]
    return pieces[..., : marian.config.pad_token_id]


def test_logits_are_marians(run: Path, folder: Path, marian: MarianMTModel) -> None:
    chance = np.random.default_rng(1)
    ours, runtime = load_model(RunFolder(run).newest()).eval(), Runtime(load_folder(folder))
    for length, rows in ((1, 1), (7, 5), (60, 40)):
        source = [*chance.integers(2, 100, length).tolist(), 0]
        target = [marian.config.pad_token_id, *chance.integers(2, 100, rows).tolist()]
        expected = their_logits(marian, source, target)[:, : marian.config.pad_token_id]
        source_ids = np.array([FIRST + piece for piece in source[:-1]] + [BRK_ID])
        target_ids = np.array([DOC_ID] + [FIRST + piece for piece in target[1:]])
        full, limit = np.full(len(source_ids), len(source_ids)), np.full(len(target_ids), len(source_ids))
        with torch.no_grad():
            states = ours(*(torch.from_numpy(values)[None] for values in (source_ids, full, target_ids, limit)))
            found = ours.logits(states[0]).numpy()
        assert np.abs(as_theirs(found, marian) - expected).max() < TOLERANCE
        [memory] = runtime.encode([EncodeRequest(None, source_ids, full)])
        [(_, last)] = runtime.decode([DecodeRequest(None, memory, target_ids, limit)])
        assert np.abs(as_theirs(last, marian) - expected[-1]).max() < TOLERANCE


def test_pieces_are_those_of_the_sentencepiece_models(place: Path, run: Path) -> None:
    vocabulary = load_json(place / "opus-mt-de-en" / "vocab.json")
    for name, ours, words in zip(
        ("source.spm", "target.spm"), load_subwords(run), (made_up_words()[:300], made_up_words()[200:500]), strict=True
    ):
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(place / "opus-mt-de-en" / name))
        for word in words:
            pieces = theirs.encode(word, out_type=str)
            assert list(ours.encode_word(word)) == [FIRST + vocabulary[piece] for piece in pieces]
        ids, _ = encode_words(ours, words)
        assert ours.decode_words(ids) == words
        assert ours.space_first


def greedy(marian: MarianMTModel, translator: Translator, words: list[str], pieces: int) -> list[int]:
    """The pieces that Marian itself would write, under the engine's rules for words, for a whole sentence."""
    model = translator.model
    ids, _ = encode_words(model.source_subwords, words)
    source = [piece - FIRST for piece in ids] + [0]
    written: list[int] = []
    start = marian.config.pad_token_id
    assert start is not None
    target = [start]
    while len(written) < pieces:
        scores = np.full(len(model.target_subwords), -np.inf)
        last = their_logits(marian, source, target)[-1]
        scores[FIRST:] = last
        scores[BRK_ID] = last[0]
        tables = model.forbidden
        best = int(np.where(tables.in_word if written else tables.word_start_or_end, -np.inf, scores).argmax())
        if best in CLOSING_IDS:
            break
        written.append(best)
        target.append(best - FIRST)
    return written


def test_it_streams_what_marian_would_write(folder: Path, marian: MarianMTModel) -> None:
    translator = Translator.load(folder)
    assert not translator.model.normalises
    words = made_up_words()[:9]
    stream = translator.stream(k=50, punctuation=True)
    records = [record for word in words for record in stream.push(word)]
    assert not records, "k is more than the sentence has"
    written = [record.word for record in stream.flush() if isinstance(record, Write)]
    expected = translator.model.target_subwords.decode_words(greedy(marian, translator, words, 20))[:-1]
    assert written[: len(expected)] == expected or expected[: len(written)] == written
    assert len(written) > 0


def test_words_come_while_the_sentence_is_spoken_and_survive_a_restart(folder: Path) -> None:
    translator = Translator.load(folder)
    words = made_up_words()[:12]

    def translated(restart: bool) -> list[tuple[str, int]]:
        stream, records = translator.stream(k=2, punctuation=True), []
        for word in words:
            records += stream.push(word)
            if restart:
                stream = translator.restore(json.loads(json.dumps(stream.state())))
        records += stream.flush()
        return [(record.word, record.read) for record in records if isinstance(record, Write)]

    assert translated(restart=False) == translated(restart=True)
    assert translated(restart=False)[0][1] < len(words)


def test_its_card_says_that_it_knows_no_prefixes(folder: Path) -> None:
    assert load_folder(folder).config.trained_k == (OFFLINE_K, OFFLINE_K)
    card = (folder / CARD_FILE).read_text(encoding="utf-8")
    assert "encoder bidirectional, masks anchored at the sentence, trained for whole sentences alone" in card


@pytest.mark.parametrize("history", [0, 30])
def test_the_bench_has_it_say_sentences_of_the_length_of_its_script(folder: Path, history: int) -> None:
    model = replace(Translator.load(folder).model, gamma=1.2)
    said = speech(model.source_subwords, 60)
    stream = Stream(
        replace(model, backend=ScriptedBackend(model)),
        GivenSegmenter(said.lengths),
        Settings(k=3, gamma=1.2, history=history),
    )
    records = [record for word in said.words for record in stream.push(word)]
    assert not [record for record in records if isinstance(record, Note)]
    ends = [record for record in records if isinstance(record, SentenceEnd)]
    assert [end.source_words for end in ends] == said.lengths
    assert [end.target_words for end in ends] == [int(np.ceil(1.2 * length)) for length in said.lengths]
    written = [record.word for record in records if isinstance(record, Write)]
    of_two = [word for word in written if f"{WORD_END}{word}" not in model.target_subwords.pieces]
    assert 0.2 < len(of_two) / len(written) < 0.4


def test_it_is_adapted_by_multi_k_fine_tuning(run: Path, tmp_path: Path) -> None:
    toy = load_toml(Recipe, TINY)
    adapt = load_toml(Recipe, run / "adapt.toml")
    assert adapt.training.start_from == run
    assert adapt.training.k_range is None
    assert adapt.model.encoder == "pbe", "a bidirectional encoder would have seen whole sentences"
    recipe = replace(
        adapt,
        source_language=toy.source_language,
        target_language=toy.target_language,
        run=tmp_path / "run",
        data=replace(toy.data, folder=tmp_path / "data"),
        filters=toy.filters,
        training=replace(adapt.training, steps=2, threads=1, batch_tokens=500),
        validation=replace(adapt.validation, batches=1, bleu_sentences=2, bleu_k=(2,), k=(2,)),
    )
    prepare(recipe, processes=1)
    said: list[str] = []
    train(recipe, lambda news: said.append(str(news)))
    assert any(line.startswith("starts from") for line in said)
    before, after = (load_model(RunFolder(path).newest()).state_dict() for path in (run, recipe.run))
    assert before.keys() == after.keys()
    assert not torch.equal(before["logits_bias"], after["logits_bias"])
    change = max(float((before[name] - after[name]).abs().max()) for name in before)
    assert change < 1e-3, "two small steps from where Marian was"
    export_run(recipe.run, tmp_path / "model")
    assert Translator.load(tmp_path / "model").model.normalises


def test_weights_of_torch_and_what_is_refused(place: Path, marian: MarianMTModel, run: Path, tmp_path: Path) -> None:
    original = place / "opus-mt-de-en"
    copy = tmp_path / "model"
    shutil.copytree(original, copy)
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"neither model\.safetensors nor pytorch_model\.bin"):
        import_marian(copy, tmp_path / "a", "de", "en")
    torch.save(marian.state_dict(), copy / "pytorch_model.bin")
    with pytest.raises(InputError, match="give --source, such as"):
        import_marian(copy, tmp_path / "a")
    again = load_model(RunFolder(import_marian(copy, tmp_path / "b", "de", "en")).newest()).state_dict()
    first = load_model(RunFolder(run).newest()).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    for content in ({"code": print}, torch.zeros(2), {"step": 3}):
        torch.save(content, copy / "pytorch_model.bin")
        with pytest.raises(ModelError, match="not plain weights"):
            import_marian(copy, tmp_path / "c", "de", "en")
    config = load_json(original / "config.json")
    (copy / "config.json").write_text(json.dumps(config | {"activation_function": "tanh"}), encoding="utf-8")
    with pytest.raises(ModelError, match="activation_function is 'tanh', expected relu, swish"):
        import_marian(copy, tmp_path / "d", "de", "en")
    for key, value in (("d_model", None), ("encoder_ffn_dim", "32"), ("encoder_layers", 0), ("eos_token_id", 10**6)):
        (copy / "config.json").write_text(json.dumps(config | {key: value}), encoding="utf-8")
        with pytest.raises(ModelError, match=rf"config\.json: {key} is {value!r}, expected"):
            import_marian(copy, tmp_path / "e", "de", "en")
    with pytest.raises(InputError, match="not empty"):
        import_marian(original, run)
    with pytest.raises(InputError, match="is no folder"):
        import_marian(original, copy / "config.json")
    with pytest.raises(ModelError, match=r"config\.json/config\.json: cannot be read: Not a directory"):
        import_marian(copy / "config.json", tmp_path / "f")
    for gamma in (0.0, -1.0, float("nan"), 11.0):
        with pytest.raises(ConfigError, match=rf"gamma is {gamma}, expected a number from 0\.1 to 10"):
            import_marian(original, tmp_path / "f", gamma=gamma)
    assert not (tmp_path / "f").exists()


def test_the_command(place: Path, marian: MarianMTModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["import-marian", str(place / "opus-mt-de-en")]) == 0
    assert load_json(tmp_path / "runs" / "opus-mt-de-en" / "recipe.json")["source_language"] == "de"
