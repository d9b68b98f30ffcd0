"""From a model folder and a corpus to a model with heads, which streams use and other models refuse."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from turia.config import ActHeads, ChunkHeads, Corpus, HeadTraining, PolicyRecipe
from turia.errors import InputError, ModelError
from turia.experiments.sweep.run import sweep
from turia.export.again import export_model
from turia.export.random_model import made_up_words
from turia.policy.base import Head, State, head_values
from turia.runtime.folder import load_folder, read_sums
from turia.runtime.heads import head_file, head_list
from turia.runtime.translator import Translator
from turia.stream.trace import Write
from turia.training.policy.training import PolicyReport, train


@pytest.fixture(scope="module")
def trained(model_folder: Path, toy_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> PolicyReport:
    place = tmp_path_factory.mktemp("policy")
    recipe = PolicyRecipe(
        str(model_folder), place / "export", (Corpus(path=toy_corpus),), place / "run", sentences=40,
        chunk=ChunkHeads((1,)), act=ActHeads((0.2,), (1, 2, 4), 3), training=HeadTraining(hidden=4, epochs=2),
    )  # fmt: skip
    shown: list[float] = []
    report = train(recipe, lambda share, what: shown.append(share))
    assert shown == sorted(shown)
    assert shown[-1] == 1.0
    return report


def test_the_model_with_heads_runs_their_policies(trained: PolicyReport) -> None:
    assert [head.name for head in trained.heads] == ["chunk-source-1", "chunk-target-1", "act-0.2"]
    assert trained.lines()[0] == "1,100 sentence pairs aligned, 40 of them learned from"
    translator = Translator.load(trained.folder)
    for policy in ("chunk:delay=1,threshold=0.1", "act"):
        stream = translator.stream(policy=policy, max_lag=3, punctuation=True)
        records = [record for word in ("ba", "be", "bi", "bo", "da.") for record in stream.push(word)] + stream.flush()
        assert any(isinstance(record, Write) for record in records)

    with pytest.raises(ModelError, match="needs the head chunk-source-2, the model has act-0"):
        translator.stream(policy="chunk", punctuation=True)


def test_stored_heads_decide_as_exact_ones_would(trained: PolicyReport) -> None:
    """The same words at the same time as with heads that compute in double precision, and how sure the model is too."""

    def exact(name: str, values: int) -> Head:
        stored = np.fromfile(trained.folder / head_file(name), dtype="<f4").astype(np.float64)
        rows = stored[:-1].reshape(-1, values + 2)

        def head(states: tuple[State, ...], /, *numbers: float) -> float:
            shown = head_values(states, *numbers).astype(np.float64)
            inner = np.maximum(rows[:, :-2] @ shown + rows[:, -2], 0)
            return float(1 / (1 + np.exp(-(inner @ rows[:, -1] + stored[-1]))))

        return head

    translator = Translator.load(trained.folder)
    exactly = Translator.load(trained.folder)
    listed = head_list(load_folder(trained.folder)).values
    exactly.model = replace(exactly.model, heads={name: exact(name, count) for name, count in listed.items()})
    words = [f"{word}." if n % 9 == 8 else word for n, word in enumerate(made_up_words()[:27])]
    for policy in ("chunk:delay=1,threshold=0.4", "act"):
        streams = [each.stream(policy=policy, max_lag=6, punctuation=True) for each in (translator, exactly)]
        found, expected = ([record for word in words for record in stream.push(word)] for stream in streams)
        assert any(isinstance(record, Write) and record.reason == "policy" for record in found)
        assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 2])
def test_a_stream_that_is_saved_at_every_word_writes_the_same(trained: PolicyReport, beam: int) -> None:
    translator = Translator.load(trained.folder)
    words = [f"{word}." if n % 9 == 8 else word for n, word in enumerate(made_up_words()[:20])]
    for policy in ("chunk:delay=1,threshold=0.2", "act"):
        alone = translator.stream(policy=policy, beam=beam, max_lag=4, punctuation=True)
        expected = [record for word in words for record in alone.push(word)] + alone.flush()
        saved = translator.stream(policy=policy, beam=beam, max_lag=4, punctuation=True)
        found = []
        for word in words:
            found += saved.push(word)
            saved = translator.restore(json.loads(json.dumps(saved.state())))
        assert found + saved.flush() == expected


def test_heads_stay_with_a_model_that_is_exported_again(trained: PolicyReport, tmp_path: Path) -> None:
    export_model(trained.folder, tmp_path / "again")
    assert read_sums(tmp_path / "again") == read_sums(trained.folder)
    assert list(head_list(load_folder(tmp_path / "again")).values) == ["chunk-source-1", "chunk-target-1", "act-0.2"]


def test_the_model_stays_as_it_was(trained: PolicyReport, model_folder: Path) -> None:
    old, new = load_folder(model_folder), load_folder(trained.folder)
    assert old.config == new.config
    assert {name for name in new.listed if name.startswith("head")} == new.listed - old.listed


def test_a_model_may_be_given_its_heads_in_its_own_folder(
    trained: PolicyReport, toy_corpus: Path, tmp_path: Path
) -> None:
    own = Path(shutil.copytree(trained.folder, tmp_path / "own"))
    recipe = PolicyRecipe(
        str(own), own, (Corpus(path=toy_corpus),), tmp_path / "run", sentences=20,
        chunk=ChunkHeads(()), act=ActHeads((0.5,), (1, 2), 2), training=HeadTraining(hidden=2, epochs=1),
    )  # fmt: skip
    train(recipe, lambda share, what: None)
    assert list(head_list(load_folder(own)).values) == ["act-0.5"]


@pytest.mark.slow
def test_heads_of_a_model_without_a_segmenter_are_swept_beside_others(
    free_folder: Path, toy_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of docs/comparison.md at tiny size: from a tuned model over its heads to a table of all systems."""
    monkeypatch.setattr("turia.experiments.sweep.results.draw", lambda *_: [])
    heads = PolicyRecipe(
        str(free_folder), tmp_path / "heads", (Corpus(path=toy_corpus),), tmp_path / "run", sentences=20,
        chunk=ChunkHeads(()), act=ActHeads((0.005,), (1, 2), 2), training=HeadTraining(hidden=2, epochs=1),
    )  # fmt: skip
    assert train(heads, lambda share, what: None).lines()[0] == "20 sentence pairs learned from"
    assert load_folder(tmp_path / "heads").config.free
    (tmp_path / "few.tsv").write_text("".join(toy_corpus.read_text("utf-8").splitlines(True)[:4]), encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(
        f'''
        folder = "out"
        models = ["heads"]
        wait_k_models = ["{free_folder}"]
        k = [2]
        policies = ["act:lag_cost=0.005"]
        windows = [2]
        free = ["attention"]
        max_lag = 1000
        oracle = false
        offline = false
        [[test]]
        name = "few"
        corpus = {{ path = "few.tsv" }}
        ''',
        encoding="utf-8",
    )
    rows = sweep(tmp_path / "sweep.toml", lambda share, what: None).rows
    assert [(row.system, row.segments, str(row.details["policy"]).partition(":")[0]) for row in rows] == [
        ("heads", "w2", "wait-k"),
        ("heads", "w2", "act"),
        ("heads", "free", "wait-k"),
        ("heads", "free", "act"),
        ("free", "w2", "wait-k"),
        ("free", "free", "wait-k"),
    ]
    assert rows[3].details["max_lag"] == 1000


def test_a_corpus_that_is_too_small_or_too_short_is_refused_in_one_line(
    model_folder: Path, toy_corpus: Path, tmp_path: Path
) -> None:
    def refusal(lines: list[str], chunk: ChunkHeads, act: ActHeads) -> str:
        (tmp_path / "corpus.tsv").write_text("".join(lines), encoding="utf-8")
        recipe = PolicyRecipe(
            str(model_folder), tmp_path / "export", (Corpus(path=tmp_path / "corpus.tsv"),), tmp_path / "run",
            sentences=20, chunk=chunk, act=act,
        )  # fmt: skip
        with pytest.raises(InputError) as caught:
            train(recipe, lambda share, what: None)
        assert not (tmp_path / "export").exists()
        return str(caught.value)

    lines = toy_corpus.read_text(encoding="utf-8").splitlines(keepends=True)
    none, some = ActHeads(()), ActHeads((0.2,))
    assert refusal(lines[:999], ChunkHeads((1,)), none).startswith("train has 999 sentence pairs, too few to align")
    few = "train has 9 sentence pairs that heads can learn from (2 to 60 words a side); expected 10 or more"
    assert refusal(lines[:9], ChunkHeads(()), some) == few
    assert refusal(lines, ChunkHeads((30,)), none).startswith("chunk-source-30: the sentences of train are too short")
