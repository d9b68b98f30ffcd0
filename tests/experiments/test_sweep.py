"""What a sweep translates: its configurations, its test sets, many streams at once, and what it refuses to begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.engine.fakes import WORDS, Chaos, Echo, Fake, fake_model
from turia.config import Corpus, SweepRecipe, SweepTest
from turia.engine.settings import Settings
from turia.engine.stream import Stream
from turia.errors import ConfigError, FormatError, InputError
from turia.experiments.sweep import (
    Configuration,
    Job,
    SweptModel,
    configurations,
    plan,
    translate_all,
    write_streams,
)
from turia.formats.documents import is_held_out
from turia.policy.waitk import WaitK
from turia.policy.whole import Whole
from turia.schema import from_dict
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Trace

PUBLISHED = {"name": "x", "corpus": {}, "published": {"folder": "y"}}


def recipe(folder: Path, **keys: object) -> SweepRecipe:
    return SweepRecipe(folder, (SweepTest("toy set", Corpus()),), **keys)  # type: ignore[arg-type]


def model() -> SweptModel:
    return SweptModel("toy", Path("toy"), 40, 3, "", "xx", "yy", windows=(0, 1, 2, 3, 4))


def test_configurations_are_the_product_with_oracle_and_offline() -> None:
    found = configurations(recipe(Path("x"), k=(1, 4), windows=(0, 2), history=(0, 60), beam=(1,)), model())
    own = [(one.window, one.policy) for one in found if one.history == 60]
    one, four = WaitK(1), WaitK(4)
    assert own == [(0, one), (0, four), (2, one), (2, four), (None, one), (None, four), (None, Whole())]
    assert [one.history for one in found] == [0] * 7 + [60] * 7
    assert len({one.name() for one in found}) == 14
    assert found[0].name() == "w0-k1-h0"
    assert found[-1].name() == "oracle-offline-h60"


def test_without_history_or_beam_the_model_s_own_is_taken() -> None:
    (only,) = configurations(recipe(Path("x"), k=(), windows=()), model())
    assert only == Configuration(None, Whole(), 40, beam=3)


def test_blocks_and_max_lag_are_told_apart_and_told_only_where_they_are_used() -> None:
    keys = {"k": (2,), "policies": ("hold-n:n=1",), "windows": (), "blocks": (90,), "history": (0,), "beam": (1,)}
    found = configurations(recipe(Path("x"), offline=False, max_lag=50, **keys), model())
    assert [one.name() for one in found] == [
        "b90-k2-h0",
        "b90-hold-n-n-1-h0-lag50",
        "oracle-k2-h0",
        "oracle-hold-n-n-1-h0-lag50",
    ]
    assert found[1].as_json()["block"] == 90
    assert found[1].as_json()["max_lag"] == 50
    assert found[2].as_json().keys() == {
        "window", "policy", "history", "encoding", "recompute", "beam", "gamma"
    }  # fmt: skip


def test_every_variant_has_a_folder_of_its_own() -> None:
    found = configurations(
        recipe(Path("x"), encoding=("incremental", "full"), recompute=(False, True), beam=(1, 4)), model()
    )
    assert len({one.name() for one in found}) == len(found) == 8 * (5 * 6 + 1)


@pytest.mark.parametrize(
    ("keys", "cause"),
    [
        ({"k": [], "offline": False}, "nothing to translate"),
        ({"models": []}, "models is empty"),
        ({"models": ["a/de-en", "b/de-en"]}, "two models have one name"),
        ({"models": ["a/de-en"], "bounds": ["b/de-en"]}, "two models have one name"),
        ({"resamples": 1}, "resamples is 1"),
        ({"latency": "sentence"}, "latency is 'sentence', which needs the sentences of the reference"),
        (
            {"latency": "sentence", "windows": [], "test": [PUBLISHED]},
            "latency is 'sentence', but published outputs are streams",
        ),
        ({"baseline": "w = 0"}, "baseline is set, but resamples is 0"),
        ({"test": [{"name": "x", "corpus": {}}, {"name": "x", "corpus": {}}]}, "two test sets have one name"),
        ({"test": [{"name": "a b", "corpus": {}}, {"name": "a-b", "corpus": {}}]}, "names that make one folder"),
        ({"windows": [-1]}, r"windows\[0\] is -1"),
        ({"k": [4, 1000]}, "k of 1000 words or more reads whole sentences"),
        ({"k": [4, 8, 4]}, r"k is \[4, 8, 4\], expected each value once"),
        ({"history": [60, 60]}, "history is .* expected each value once"),
        ({"recompute": [True, True]}, "recompute is .* expected each value once"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(keys: dict[str, object], cause: str) -> None:
    with pytest.raises(ConfigError, match=cause):
        from_dict(SweepRecipe, {"folder": "x", "test": [{"name": "toy", "corpus": {}}], **keys})


# --- translating ------------------------------------------------------------------------------------------------------


def speeches() -> list[tuple[list[str], list[int], int]]:
    """Words, lengths of sentences, k: of different lengths, so that streams end at different times."""
    return [
        ([WORDS[(7 * i + number) % len(WORDS)] for i in range(5 * (number + 1))], [5] * (number + 1), number + 1)
        for number in range(5)
    ]


def jobs(backend: Fake) -> list[Job]:
    model = fake_model(backend)

    def begin(lengths: Sequence[int], k: int) -> Callable[[], Stream]:
        return lambda: Stream(model, GivenSegmenter(lengths), Settings(k=k))

    return [Job(begin(lengths, k), words) for words, lengths, k in speeches()]


def alone(backend: Fake) -> list[Trace]:
    traces = []
    for job in jobs(backend):
        stream = job.begin()
        records = [record for word in job.words for record in stream.push(word)] + stream.flush()
        traces.append(Trace(stream.header(), tuple(records)))
    return traces


@pytest.mark.parametrize("together", [1, 2, 3, 64])
@pytest.mark.parametrize("kind", [Echo, Chaos])
def test_streams_write_together_what_they_write_alone(together: int, kind: type[Fake]) -> None:
    backend = kind()
    told: list[int] = []
    traces = translate_all(jobs(backend), backend, together, told.append)
    assert traces == alone(kind())
    assert sum(told) == sum(len(words) for words, _, _ in speeches())
    assert max(backend.batches) == min(together, 5)


def test_no_stream_is_begun_after_one_has_failed() -> None:
    backend = Echo()
    given = jobs(backend)
    begun: list[int] = []

    def begin(number: int) -> Stream:
        begun.append(number)
        return given[number].begin()

    words = [["ka"] * 6, given[1].words, *(job.words for job in given[2:])]  # one more than its sentences have
    counted = [Job(partial(begin, number), words[number]) for number in range(len(given))]
    with pytest.raises(InputError, match="more words than the 5"):
        translate_all(counted, backend, 2, lambda _: None)
    assert begun == [0, 1]


# --- test sets --------------------------------------------------------------------------------------------------------

TSV = "one\tEin Satz.\tA sentence.\none\tNoch – einer.\tOne more.\ntwo\tDer letzte.\tThe last.\n"


def corpus(folder: Path, text: str = TSV) -> SweepTest:
    path = folder / "set.tsv"
    path.write_text(text, encoding="utf-8")
    return SweepTest("toy set", Corpus(path=path))


def test_a_test_set_is_one_stream_of_words_as_written(tmp_path: Path) -> None:
    written = write_streams(corpus(tmp_path), recipe(tmp_path / "out"), "de", "en")
    assert [path.read_text("utf-8") for path in written.sources] == ["Ein Satz.\nNoch – einer.\nDer letzte.\n"]
    assert [path.read_text("utf-8") for path in written.references] == ["A sentence.\nOne more.\nThe last.\n"]
    assert (written.sentences, written.source_words) == (3, 7)


def test_or_a_stream_for_each_document(tmp_path: Path) -> None:
    written = write_streams(corpus(tmp_path), recipe(tmp_path / "out", streams="documents"), "en", "de")
    assert [path.read_text("utf-8") for path in written.sources] == ["A sentence.\nOne more.\n", "The last.\n"]


def test_the_first_sentences_alone(tmp_path: Path) -> None:
    keys = {"streams": "documents", "sentences": 1}
    written = write_streams(corpus(tmp_path), recipe(tmp_path / "out", **keys), "de", "en")
    assert [path.read_text("utf-8") for path in written.sources] == ["Ein Satz.\n"]


def test_of_a_corpus_that_holds_pairs_out_those_are_the_test_set(tmp_path: Path) -> None:
    everyday = corpus(tmp_path, "".join(f"{n}\tSatz {n}.\tSentence {n}.\n" for n in range(60)))
    held_out = replace(everyday, corpus=replace(everyday.corpus, context=False, hold_out=7))
    written = write_streams(held_out, recipe(tmp_path / "out"), "de", "en")
    kept = [n for n in range(60) if is_held_out(f"Sentence {n}.", 7)]
    assert [path.read_text("utf-8") for path in written.sources] == ["".join(f"Satz {n}.\n" for n in kept)]


def test_streams_are_known_by_their_content(tmp_path: Path) -> None:
    def digest(text: str, **keys: object) -> str:
        return write_streams(corpus(tmp_path, text), recipe(tmp_path / "out", **keys), "de", "en").sha256

    assert digest(TSV) == digest(TSV)
    assert digest(TSV) != digest(TSV.replace("Ein", "ein"))
    assert digest(TSV) != digest(TSV, streams="documents")


def test_a_sentence_without_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"set\.tsv: a sentence without source words"):
        write_streams(corpus(tmp_path, "one\t\tNothing.\n"), recipe(tmp_path / "out"), "de", "en")


# --- plans ------------------------------------------------------------------------------------------------------------


def test_a_model_without_segmenter_is_refused_before_any_work(tmp_path: Path) -> None:
    from turia.export.random_model import write_random_folder

    bare = tmp_path / "bare"
    bare.mkdir()
    write_random_folder(bare, "tiny", vocabulary=500)
    with pytest.raises(InputError, match=r"no segmenter of 0 future words .*or to \[\]"):
        plan(SweepRecipe(tmp_path / "out", (corpus(tmp_path),), models=("bare",)), tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("keys", "cause"),
    [
        ({"beam": (1, 65)}, "beam is 65, expected a whole number from 1 to 64"),
        ({"gamma": 11.0}, r"gamma is 11\.0, expected 0\.1 to 10"),
        ({"history": (0, 2_000_000)}, "history is 2000000, expected a whole number"),
    ],
)
def test_what_no_stream_can_have_is_refused_before_any_work(
    model_folder: Path, tmp_path: Path, keys: dict[str, object], cause: str
) -> None:
    with pytest.raises(ConfigError, match=cause):
        plan(recipe(tmp_path / "out", models=(str(model_folder),), **keys), tmp_path)


def test_a_window_that_a_segmenter_lacks_is_refused_before_anything_is_translated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turia.experiments.sweep.swept_model", lambda name, *_: replace(model(), windows=(0, 2)))
    with pytest.raises(InputError, match=r"no segmenter of 3 future words \(it has: 0, 2\)"):
        plan(recipe(tmp_path, k=(4,), windows=(2, 3)), tmp_path)
