"""Native code gives what ONNX Runtime gives; and the same bits, however rows are batched, cut, or put into a beam.

Skipped where the package turia-kernels is not installed (`pip install ./kernels`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runtime.models import Norm, config_of, put_number, random_transformer, save_subwords, tiny_shape, weights_of
from turia.engine.backend import (
    DecodeRequest,
    DecoderState,
    DraftRules,
    EncodeRequest,
    LookRequest,
    SearchRequest,
    SearchRules,
    Steps,
    run_steps,
)
from turia.engine.batcher import run_together
from turia.engine.beam import BeamSearch, Ending, Hypothesis
from turia.engine.choosing import NO_NUMBERS, best_continuations
from turia.engine.model import Model
from turia.engine.settings import Settings
from turia.engine.steering import ScoredRow
from turia.engine.stream import Stream
from turia.errors import ModelError
from turia.export.folder import write_folder
from turia.export.tensors import LARGEST
from turia.policy.table import parse_policy
from turia.runtime.folder import ModelFolder, load_folder
from turia.runtime.graphs import Runtime
from turia.runtime.native import NativeRuntime
from turia.runtime.rows import Floats
from turia.runtime.shape import Shape
from turia.runtime.states import SourceState, TargetState
from turia.runtime.tensors import read_stored
from turia.runtime.translator import Translator
from turia.segmenter.online import GivenSegmenter
from turia.stream.trace import Record, Write
from turia.text.choice import Flags, Forbidden
from turia.text.layout import Ints
from turia.text.symbols import CLOSING_IDS, END_ID, STOPPING_IDS

kernels = pytest.importorskip("turia_kernels", reason="the package turia-kernels is not installed")
VARIANTS: list[str] = kernels.variants()
AnyRuntime = Runtime | NativeRuntime
VOCABULARY = 300
WINDOW, ROWS = 23, 12


def folder_of(path: Path, shape: Shape) -> ModelFolder:
    save_subwords(shape, path / "subwords")
    weights = weights_of(random_transformer(shape))
    write_folder(path / "model", config_of(shape, "int8"), weights, "a card\n", path / "subwords")
    return load_folder(path / "model")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    return folder_of(tmp_path_factory.mktemp("native"), tiny_shape("pre", True, "rotary"))


@pytest.fixture(scope="module")
def runtime(folder: ModelFolder) -> NativeRuntime:
    return NativeRuntime(folder, kernels.Kernels())


@pytest.fixture(scope="module")
def threaded(folder: ModelFolder) -> NativeRuntime:
    return NativeRuntime(folder, kernels.Kernels(threads=2))


def ids(count: int, seed: int) -> Ints:
    return np.random.default_rng(seed).integers(VOCABULARY, size=count)


def encoded(runtime: AnyRuntime, stops: Sequence[int], seed: int = 1) -> SourceState:
    """A source of which each position sees those before it, encoded up to each stop."""
    memory, source, begin = None, ids(stops[-1], seed), 0
    for stop in stops:
        [memory] = runtime.encode([EncodeRequest(memory, source[begin:stop], np.arange(begin + 1, stop + 1))])
        begin = stop
    assert memory is not None
    return memory


def decoded(
    runtime: AnyRuntime, memory: SourceState, stops: Sequence[int], seed: int = 2
) -> tuple[TargetState, Floats]:
    """A target, decoded up to each stop; rows see ever more of the source."""
    state, logits, target, begin = None, np.zeros(0, np.float32), ids(stops[-1], seed), 0
    for stop in stops:
        limit = np.minimum(np.arange(begin, stop) + 4, memory.length)
        [(state, logits)] = runtime.decode([DecodeRequest(state, memory, target[begin:stop], limit)])
        begin = stop
    assert state is not None
    return state, logits


def everything(runtime: AnyRuntime) -> list[Floats]:
    """What a window, rows, a beam and a look give."""
    memory = encoded(runtime, [WINDOW])
    state, logits = decoded(runtime, memory, [ROWS])
    limit = np.array([memory.length])
    step = [DecodeRequest(state, memory, np.array([piece]), limit) for piece in (40, 41, 42)]
    first = runtime.decode(step)
    # The second and the third hypothesis continue one and the same.
    grown = [DecodeRequest(first[parent][0], memory, np.array([50 + parent]), limit) for parent in (0, 2, 2)]
    second = runtime.decode(grown)
    [looks] = runtime.look([LookRequest(state, memory, ids(3, 9), np.full(3, memory.length))])
    assert memory.states is not None
    assert looks.state.states is not None
    beam = [row for _, row in (*first, *second)]
    return [memory.states, logits, *beam, looks.logits, looks.attention, looks.state.states]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("positions", ["sinusoidal", "marian", "rotary"])
def test_native_code_gives_what_onnx_runtime_gives(tmp_path: Path, norm: Norm, joint: bool, positions: str) -> None:
    # With each kind of positions another activation, and Marian's bias on logits.
    activation = {"sinusoidal": "gelu", "marian": "swish", "rotary": "relu"}[positions]
    kind: dict[str, Any] = {"positions": positions, "activation": activation}
    shape = replace(tiny_shape(norm, joint), **kind)
    folder = folder_of(tmp_path, replace(shape, logits_bias=positions == "marian", scaled_embedding=joint))
    for one, other in zip(
        everything(NativeRuntime(folder, kernels.Kernels())), everything(Runtime(folder)), strict=True
    ):
        assert one.shape == other.shape
        # Now and then a number falls on the next of its 255 steps (docs/decisions/015).
        assert np.abs(one - other).max() < 0.02 * np.ptp(other)
        assert np.abs(one - other).mean() < 0.003 * np.ptp(other)


def test_every_processor_gives_the_same_bits(folder: ModelFolder) -> None:
    assert VARIANTS[-1] == "portable"
    expected = everything(NativeRuntime(folder, kernels.Kernels("portable")))
    for variant in VARIANTS[:-1]:
        for one, other in zip(everything(NativeRuntime(folder, kernels.Kernels(variant))), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    source=st.sets(st.integers(1, WINDOW - 1)),
    target=st.sets(st.integers(1, ROWS - 1)),
    neighbours=st.lists(st.tuples(st.integers(1, 70), st.integers(1, 6)), max_size=5),
)
def test_the_same_bits_however_cut_and_whoever_runs_beside(
    runtime: NativeRuntime, source: set[int], target: set[int], neighbours: list[tuple[int, int]]
) -> None:
    whole = encoded(runtime, [WINDOW])
    cut = encoded(runtime, [*sorted(source), WINDOW])
    state, expected = decoded(runtime, whole, [ROWS])
    same, found = decoded(runtime, cut, [*sorted(target), ROWS])
    np.testing.assert_array_equal(found, expected)
    requests = [DecodeRequest(same, cut, ids(2, 5), np.full(2, WINDOW))]
    for seed, (length, rows) in enumerate(neighbours):
        memory = encoded(runtime, [length], seed)
        requests.append(DecodeRequest(None, memory, ids(rows, seed), np.full(rows, length)))
    [(_, alone)] = runtime.decode([DecodeRequest(state, whole, ids(2, 5), np.full(2, WINDOW))])
    np.testing.assert_array_equal(runtime.decode(requests)[0][1], alone)


def test_a_hypothesis_has_the_bits_of_a_stream_of_its_own(runtime: NativeRuntime) -> None:
    memory = encoded(runtime, [WINDOW])
    start, _ = decoded(runtime, memory, [60])
    limit = np.array([WINDOW])
    paths = [[40, 50, 60], [41, 52, 62], [41, 52, 63], [41, 51, 61]]
    alive: list[tuple[TargetState, Floats]] = [(start, np.zeros(0, np.float32))] * len(paths)
    for step in range(3):
        alive = runtime.decode(
            [
                DecodeRequest(state, memory, np.array([path[step]]), limit)
                for path, (state, _) in zip(paths, alive, strict=True)
            ]
        )
    for path, (state, logits) in zip(paths, alive, strict=True):
        [(own, expected)] = runtime.decode([DecodeRequest(start, memory, np.array(path), np.full(3, WINDOW))])
        np.testing.assert_array_equal(logits, expected)
        # It goes on like any other state, and can be cut.
        for one, other in ((state, own), (state.truncated(61), own.truncated(61))):
            [(_, after)] = runtime.decode([DecodeRequest(one, memory, ids(2, 3), np.full(2, WINDOW))])
            [(_, after_own)] = runtime.decode([DecodeRequest(other, memory, ids(2, 3), np.full(2, WINDOW))])
            np.testing.assert_array_equal(after, after_own)


def test_a_state_is_a_value(runtime: NativeRuntime) -> None:
    memory = encoded(runtime, [6])
    state, _ = decoded(runtime, memory, [4])

    def go_on(seed: int) -> Floats:
        [more] = runtime.encode([EncodeRequest(memory, ids(2, seed), np.array([8, 8]))])
        return runtime.decode([DecodeRequest(state, more, ids(2, seed), np.array([8, 8]))])[0][1]

    first, second = go_on(3), go_on(4)
    assert np.abs(first - second).max() > 0.1
    np.testing.assert_array_equal(go_on(3), first)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("outputs", [16, 50, 64, 130])
@pytest.mark.parametrize("positive", [False, True])
def test_a_product_is_exact_and_does_not_saturate(variant: str, outputs: int, positive: bool) -> None:
    random = np.random.default_rng(outputs)
    matrix = random.integers(-LARGEST, LARGEST + 1, size=(64, outputs)).astype(np.int8)
    matrix[:, :3] = LARGEST  # with rows of the largest bytes: the largest sums
    steps = 255 if positive else 127
    rows = random.integers(0 if positive else -steps, steps + 1, size=(7, 64))
    rows[:, 0], rows[1] = steps, steps  # peaks, so that a row is rounded to itself
    scale, bias = random.random(outputs, dtype=np.float32), random.random(outputs, dtype=np.float32)
    library = kernels.Kernels(variant)
    found = library.multiply(library.pack(matrix, scale, bias, positive), rows.astype(np.float32))
    expected = rows @ matrix.astype(np.int64) * scale.astype(np.float64) + bias
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 8),
    count=st.integers(1, 16),
    vocabulary=st.sampled_from([8, 16, 77, 1000]),
    allowed=st.floats(0, 1),
)
def test_the_best_continuations_are_those_of_numpy(
    variant: str, seed: int, rows: int, count: int, vocabulary: int, allowed: float
) -> None:
    random = np.random.default_rng(seed)
    logits = list(3 * random.standard_normal((rows, vocabulary), dtype=np.float32))
    forbidden = list(random.random((rows, vocabulary)) > allowed)
    for flags in forbidden:
        flags[-1] = False  # something is always allowed
    before = (-random.random(rows)).tolist()
    found = kernels.Kernels(variant).choose(logits, forbidden, before, np.array(CLOSING_IDS), count)
    expected = best_continuations(logits, forbidden, before, count)
    np.testing.assert_allclose(found[1], expected.scores, atol=2e-5)
    np.testing.assert_allclose(found[2], expected.tops, atol=2e-5)
    assert found[0].tolist() == expected.places.tolist()


class PythonRules:
    """What the search in Python asks of a writer."""

    def __init__(self, rules: SearchRules, complete: bool, longest: int) -> None:
        self.rules, self.complete, self.longest = rules, complete, longest

    def forbidden(self, word_begun: list[int], may_end: bool = False) -> Flags:
        tables = self.rules.forbidden
        if len(word_begun) >= self.longest - 1:
            return ~self.rules.borders
        if word_begun:
            return tables.in_word
        return tables.word_start_or_end if self.complete else tables.word_start

    def word_ends(self, pieces: Sequence[int]) -> list[int]:
        if self.rules.space_first:
            shows = [piece in STOPPING_IDS or self.rules.borders[piece] for piece in pieces]
            return [place for place, shown in enumerate(shows) if shown and place]
        return [place for place, piece in enumerate(pieces, start=1) if self.rules.borders[piece]]

    def steer(self, rows: Sequence[ScoredRow]) -> Steps[list[Floats]]:
        return [row.logits for row in rows]
        yield  # a generator that asks for nothing


def found_in_python(runtime: NativeRuntime, request: SearchRequest) -> list[int]:
    [(state, logits)] = runtime.decode([DecodeRequest(request.state, request.memory, request.ids, request.limit)])
    rules = PythonRules(request.rules, request.complete, request.longest)
    ending, now = Ending(length_penalty=request.rules.length_penalty), request.memory.length
    one_word = not request.complete
    search = BeamSearch(
        rules, request.width, request.memory, now, request.most, ending, choose=runtime.choose, one_word=one_word
    )
    pieces = list(run_steps(search.best(Hypothesis((), (), (), state, logits)), runtime).pieces)
    # Of a sentence that is being spoken, one word is wanted.
    return pieces if request.complete else pieces[: next(iter(rules.word_ends(pieces)), len(pieces))]


def search_rules(folder: ModelFolder, share: float, space_first: bool, penalty: float) -> SearchRules:
    """Rules of a vocabulary of which a share ends words, or begins them."""
    pieces = np.arange(folder.config.shape.target_vocabulary)
    borders, symbols = np.random.default_rng(1).random(len(pieces)) < share, pieces <= END_ID
    borders[symbols] = False
    start = symbols | (~borders if space_first else pieces % 50 == 0)
    start_or_end, in_word = start.copy(), symbols.copy()
    start_or_end[list(CLOSING_IDS)] = False
    in_word[list(CLOSING_IDS)] = not space_first
    return SearchRules(Forbidden(start, start_or_end, in_word), borders, space_first, penalty)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1000),
    streams=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(1, 7), st.booleans()), min_size=1),
    share=st.sampled_from([0.1, 0.5, 0.9]),
    space_first=st.booleans(),
    penalty=st.sampled_from([0.6, 1.0]),
    rows=st.integers(1, 4),
)
def test_a_search_finds_what_the_search_in_python_finds(
    folder: ModelFolder,
    threaded: NativeRuntime,
    seed: int,
    streams: list[tuple[int, int, int, bool]],
    share: float,
    space_first: bool,
    penalty: float,
    rows: int,
) -> None:
    rules = search_rules(folder, share, space_first, penalty)
    requests = []
    for number, (length, width, most, complete) in enumerate(streams[:5]):
        memory = encoded(threaded, [length], seed + number)
        own, limit = ids(rows, seed), np.full(rows, length)
        requests.append(SearchRequest(None, memory, own, limit, rules, width, 3 * most, complete, 6))
    together = threaded.search(requests)
    for request, (state, pieces, *_) in zip(requests, together, strict=True):
        found = pieces
        if not request.complete:
            found = pieces[: next(iter(PythonRules(rules, False, 6).word_ends(pieces)), len(pieces))]
        assert found == found_in_python(threaded, request)
        # The state goes on as if there had been no search.
        [(expected, _)] = threaded.decode([DecodeRequest(None, request.memory, request.ids, request.limit)])
        ends = [DecodeRequest(one, request.memory, ids(1, 7), request.limit[-1:]) for one in (state, expected)]
        (_, after), (_, after_expected) = threaded.decode(ends)
        np.testing.assert_array_equal(after, after_expected)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1000),
    streams=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(1, 7)), min_size=1, max_size=5),
    share=st.sampled_from([0.1, 0.5, 0.9]),
    kept=st.integers(0, 5),
    words=st.integers(-1, 4),
)
def test_a_draft_is_what_the_search_in_python_drafts(
    folder: ModelFolder,
    threaded: NativeRuntime,
    seed: int,
    streams: list[tuple[int, int, int]],
    share: float,
    kept: int,
    words: int,
) -> None:
    """After `kept` pieces that are drafted already, of which the last ones may begin a word."""
    rules = search_rules(folder, share, space_first=False, penalty=1.0)
    python = PythonRules(rules, complete=True, longest=6)
    before = [
        int(piece) + END_ID + 1 for piece in ids(kept, seed) % (folder.config.shape.target_vocabulary - END_ID - 1)
    ]
    ends = python.word_ends(before)
    begun = kept - (ends[-1] if ends else 0)
    scores = tuple((-0.25 * np.arange(1, kept + 1)).tolist())
    requests, expected = [], []
    for number, (length, width, most) in enumerate(streams):
        memory = encoded(threaded, [length], seed + number)
        fed, limit = np.array([3, *before]), np.full(1 + kept, length)
        draft = DraftRules(words, begun, sum(scores))
        requests.append(SearchRequest(None, memory, fed, limit, rules, width, 2 * most, True, 6, draft))
        [(state, logits)] = threaded.decode([DecodeRequest(None, memory, fed, limit)])
        search = BeamSearch(python, width, memory, length, kept + 2 * most, may_end=True, choose=threaded.choose)
        start = Hypothesis(tuple(before), scores, (0.0,) * kept, state, logits)
        expected.append(run_steps(search.draft(start, len(ends) + words), threaded))
    for found, best in zip(threaded.search(requests), expected, strict=True):
        first = len(before)
        assert tuple(found.pieces) == best.pieces[first:]
        assert tuple(found.scores) == best.scores[first:]
        assert tuple(found.margins) == best.margins[first:]
        assert found.pieces or best.pieces == tuple(before[: first - begun])


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_bits_with_any_number_of_threads(folder: ModelFolder, variant: str) -> None:
    def results(threads: int) -> list[Floats]:
        runtime = NativeRuntime(folder, kernels.Kernels(variant, threads))
        lengths = [3, 17, 5, 9, 1, 12, 8]
        requests = [EncodeRequest(None, ids(one, one), np.full(one, one)) for one in lengths]
        memories = runtime.encode(requests)
        rows = [DecodeRequest(None, one, ids(one.length, 4), np.full(one.length, one.length)) for one in memories]
        looks = runtime.look([LookRequest(None, one.memory, one.ids, one.limit) for one in rows])
        found = [logits for _, logits in runtime.decode(rows)] + [look.attention for look in looks]
        return found + [look.logits for look in looks] + [one.states for one in memories if one.states is not None]

    expected = results(1)
    for threads in (2, 3, 16):
        for one, other in zip(results(threads), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_search_that_positions_do_not_suffice_for_is_refused(folder: ModelFolder, runtime: NativeRuntime) -> None:
    memory = encoded(runtime, [3])
    rules = search_rules(folder, 0.5, False, 1.0)
    with pytest.raises(IndexError, match="a search of up to 201 pieces, but there are"):
        runtime.search([SearchRequest(None, memory, ids(1, 1), np.array([3]), rules, 4, 200, True, 6)])


@pytest.mark.parametrize(("piece", "length"), [(10_000, 1), (-1, 1), (5, 200)])
def test_pieces_and_positions_that_are_not_there_are_refused(runtime: NativeRuntime, piece: int, length: int) -> None:
    with pytest.raises(IndexError, match="but there are"):
        runtime.encode([EncodeRequest(None, np.full(length, piece), np.arange(1, length + 1))])


def test_rows_that_see_what_is_not_there_are_refused(runtime: NativeRuntime) -> None:
    memory = encoded(runtime, [3])
    # Not an AssertionError: `python -O` would leave the check out.
    with pytest.raises(RuntimeError, match="not there"):
        runtime.decode([DecodeRequest(None, memory, ids(2, 1), np.array([3, 4]))])
    with pytest.raises(RuntimeError, match="sees nothing"):
        runtime.encode([EncodeRequest(None, ids(2, 1), np.array([0, 2]))])


def test_arrays_of_another_kind_are_refused() -> None:
    """Native code would read memory that is not theirs."""
    logits = np.zeros(8, dtype=np.float64)
    with pytest.raises(RuntimeError, match="arrays of another kind or size"):
        kernels.Kernels().choose([logits], [np.zeros(8, dtype=np.bool_)], [0.0], np.array([1]), 2)


def test_weights_of_another_shape_are_refused(folder: ModelFolder) -> None:
    other = replace(folder, config=replace(folder.config, shape=replace(folder.config.shape, feed_forward=256)))
    with pytest.raises(ModelError, match=r"expand.weight has the sizes \(64, 128\), expected \(64, 256\)"):
        NativeRuntime(other, kernels.Kernels())


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("memory.weight", lambda tensor: np.full_like(tensor, 64), "memory.weight has numbers beyond 63"),
        ("memory.weight", lambda tensor: np.full_like(tensor, -128), "memory.weight has numbers beyond 63"),
        ("memory.weight", lambda tensor: tensor.astype(np.float32), "has numbers of float32, expected int8"),
        # Native code would read behind its end.
        ("memory.scale", lambda tensor: tensor.astype(np.int8), "has numbers of int8, expected float32"),
    ],
)
def test_numbers_that_no_export_writes_are_refused(
    folder: ModelFolder, monkeypatch: pytest.MonkeyPatch, name: str, change: Any, complaint: str
) -> None:
    tensors = read_stored(folder.path)
    monkeypatch.setattr("turia.runtime.native.read_stored", lambda path, file: tensors | {name: change(tensors[name])})
    with pytest.raises(ModelError, match=complaint):
        NativeRuntime(folder, kernels.Kernels())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(folder: ModelFolder, tmp_path: Path, value: float) -> None:
    damaged = Path(shutil.copytree(folder.path, tmp_path / "model"))
    put_number(damaged, "memory.scale", value)
    with pytest.raises(ModelError, match=f"{damaged / 'weights.bin'}: memory.scale has values that are no numbers"):
        NativeRuntime(load_folder(damaged), kernels.Kernels())


@pytest.mark.parametrize("name", ["memory", "target_embedding", "decoder_layers.0.attention"])
@pytest.mark.parametrize("value", [1e38, -1e38])
def test_a_model_whose_scores_are_no_numbers_is_refused(
    folder: ModelFolder, monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    """Its weights are numbers, but too large to be multiplied."""
    # A library of before this test fails here. What follows would let it write behind its memory.
    symbols = np.arange(VOCABULARY) <= END_ID
    for variant, score in product(VARIANTS, (np.nan, -np.inf)):
        logits = np.full(VOCABULARY, score, dtype=np.float32)
        assert not len(kernels.Kernels(variant).choose([logits], [symbols], [0.0], np.array(CLOSING_IDS), 4)[0])
    tensors = read_stored(folder.path)
    scale = np.full_like(tensors[f"{name}.scale"], value)
    monkeypatch.setattr("turia.runtime.native.read_stored", lambda path, file: tensors | {f"{name}.scale": scale})
    rules = search_rules(folder, 0.3, False, 1.0)
    for variant in VARIANTS:
        damaged = NativeRuntime(folder, kernels.Kernels(variant))
        request = SearchRequest(None, encoded(damaged, [3]), ids(1, 1), np.array([3]), rules, 4, 6, True, 6)
        with pytest.raises(ModelError, match=f"{folder.path}: {NO_NUMBERS}"):
            damaged.search([request])
        with pytest.raises(ModelError, match=NO_NUMBERS):
            found_in_python(damaged, request)
        [drafted] = damaged.search([replace(request, draft=DraftRules(2, 0, 0.0))])
        assert drafted.pieces == []


@pytest.mark.parametrize("beam", [1, 4])
def test_the_shipped_model_writes_the_same_words(beam: int) -> None:
    text = "wir müssen heute gemeinsam über die zukunft der europäischen union sprechen meine damen und herren"
    speech = text.split()
    written = []
    for chosen in ("native", "onnx"):
        translator = Translator.load("de-en", kernels=chosen)
        assert isinstance(translator.model.backend, NativeRuntime) == (chosen == "native")
        stream = translator.stream(k=4, beam=beam, segmenter=GivenSegmenter([len(speech)]))
        records = [record for word in speech for record in stream.push(word)] + stream.flush()
        written.append([record.word for record in records if isinstance(record, Write)])
    assert written[0] == written[1]
    assert "european" in [word.lower() for word in written[0]]


@pytest.mark.parametrize("policy", ["wait-k:k=3", "hold-n:n=2", "alignatt:f=2"])
def test_streams_together_write_what_the_search_in_python_writes_for_each(policy: str) -> None:
    text = """ich möchte mich zunächst bei der berichterstatterin für ihre arbeit bedanken
        das ist eine sehr wichtige frage
        wir haben gestern lange darüber gesprochen und sind zu keinem ergebnis gekommen"""
    speech = [line.split() for line in text.splitlines()]
    translator = Translator.load("de-en", kernels="native", threads=2)
    assert translator.model.searches
    in_python = replace(translator.model, searches=False)

    def work(model: Model, words: list[str]) -> Steps[list[Record]]:
        stream = Stream(
            model,
            GivenSegmenter([len(words)]),
            Settings(policy=parse_policy(policy), gamma=model.gamma, history=0, beam=4),
        )
        records: list[Record] = []
        for word in words:
            records += yield from stream.push_steps(word)
        return records

    together = run_together([work(translator.model, words) for words in speech], translator.model.backend)
    assert together == [run_steps(work(in_python, words), in_python.backend) for words in speech]


def test_a_backend_that_stands_in_for_native_code_need_not_search() -> None:
    model = Translator.load("de-en", kernels="native").model

    class Counting:
        """As `turia bench` has them."""

        can_look, gives_states, steps = True, True, 0
        encode, look = model.backend.encode, model.backend.look

        def decode(self, requests: Sequence[DecodeRequest]) -> Sequence[tuple[DecoderState, Floats]]:
            self.steps += 1
            return model.backend.decode(requests)

    words, backend = ["das", "ist", "gut"], Counting()
    found = []
    for one in (model, replace(model, backend=backend)):
        stream = Stream(one, GivenSegmenter([3]), Settings(k=2, gamma=model.gamma, history=0, beam=4))
        found.append([record for word in words for record in stream.push(word)])
    assert found[0] == found[1]
    assert backend.steps > 3
