"""The numbers of the torch model, whatever is kept, however rows are cut into calls, whoever runs beside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.model.windows import lay_out_pair, sentence
from tests.runtime.models import (
    POSITIONS,
    MakeBoth,
    Norm,
    config_of,
    random_transformer,
    runtime_logits,
    save_subwords,
    tiny_shape,
    torch_logits,
    weights_of,
)
from turia.config import Anchor, Encoder, Positions
from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.export.folder import write_folder
from turia.export.tensors import LARGEST
from turia.policy.masks import cross_limit, encoder_reach
from turia.runtime.folder import load_folder
from turia.runtime.graphs import Runtime
from turia.runtime.rows import Floats
from turia.runtime.shape import Precision
from turia.runtime.states import SourceState, TargetState
from turia.system.onnx import load_graph
from turia.text.layout import Ints, target_rows

ROUNDING = 1e-4
VOCABULARY = 300
BOTH_POSITIONS: list[Positions] = ["sinusoidal", "rotary"]
LARGE = 305
SOURCE = [sentence([2, 1, 3]), sentence([1, 1, 2, 1], first=20), sentence([1, 3], first=30)]
TARGET = [sentence([1, 2], first=40), sentence([1, 1, 1], first=50), sentence([3, 1], first=60)]
WINDOW, WRITTEN = lay_out_pair(SOURCE, TARGET)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("anchor", ["sentence", "window"])
@pytest.mark.parametrize("encoder", ["pbe", "unidirectional", "bidirectional"])
@pytest.mark.parametrize("positions", BOTH_POSITIONS)
def test_float32_is_the_torch_model(
    both: MakeBoth, norm: Norm, joint: bool, anchor: Anchor, encoder: Encoder, positions: Positions
) -> None:
    transformer, runtime = both(norm, joint, "float32", positions)
    reach = encoder_reach(WINDOW, 2, encoder, anchor)
    limit = cross_limit(WINDOW, target_rows(TARGET), 2, 1.1, anchor)
    expected = torch_logits(transformer, WINDOW.ids, reach, WRITTEN.ids[:-1], limit)
    assert np.ptp(expected, axis=0).max() > 1  # Rows differ, so that a wrong row would be seen.
    # A stream can stop wherever nothing before looks further.
    steps = [stop for stop in range(1, len(reach) + 1) if reach[:stop].max() <= stop]
    assert (len(steps) > 1) == (encoder != "bidirectional")
    for stops in ([len(reach)], steps):
        for prefill in (1, 4, len(limit)):
            found = runtime_logits(runtime, WINDOW.ids, reach, WRITTEN.ids[:-1], limit, stops, prefill)
            np.testing.assert_allclose(found, expected[prefill - 1 :], atol=ROUNDING)


@pytest.mark.parametrize("positions", BOTH_POSITIONS)
def test_long_windows_outgrow_their_buffers(both: MakeBoth, positions: Positions) -> None:
    transformer, runtime = both("pre", True, "float32", positions)
    random = np.random.default_rng(1)
    source, target = (random.integers(VOCABULARY, size=POSITIONS) for _ in range(2))
    limit = np.arange(1, POSITIONS + 1)
    expected = torch_logits(transformer, source, limit, target, limit)
    found = runtime_logits(runtime, source, limit, target, limit, [*range(10, POSITIONS, 3), POSITIONS], 20)
    np.testing.assert_allclose(found, expected[19:], atol=ROUNDING)


def ids(count: int, seed: int) -> Ints:
    return np.random.default_rng(seed).integers(VOCABULARY, size=count)


def encoded(runtime: Runtime, count: int, seed: int) -> SourceState | None:
    if count == 0:
        return None
    return runtime.encode([EncodeRequest(None, ids(count, seed), np.arange(1, count + 1))])[0]


def decoded(runtime: Runtime, memory: SourceState, count: int, seed: int) -> TargetState | None:
    if count == 0:
        return None
    return runtime.decode([DecodeRequest(None, memory, ids(count, seed), np.full(count, memory.length))])[0][0]


def read_back(runtime: Runtime, memory: SourceState) -> Floats:
    """What is in an encoder state, by what a decoder and a further position make of it."""
    [more] = runtime.encode([EncodeRequest(memory, ids(1, 7), np.array([memory.length + 1]))])
    everything = np.array([memory.length])
    [(_, before), (_, after)] = [
        runtime.decode([DecodeRequest(None, state, ids(1, 8), limit)])[0]
        for state, limit in ((memory, everything), (more, everything + 1))
    ]
    return np.concatenate([before, after])


counts = st.tuples(st.sampled_from([0, 1, 9, 70]), st.integers(1, 4), st.sampled_from([0, 1, 5]), st.integers(1, 3))


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("positions", BOTH_POSITIONS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(streams=st.lists(counts, min_size=2, max_size=11))
def test_a_stream_gets_in_a_batch_what_it_gets_alone(
    both: MakeBoth, precision: Precision, positions: Positions, streams: list[tuple[int, int, int, int]]
) -> None:
    runtime = both("pre", True, precision, positions).runtime
    # int8 has no sums of floats whose order depends on the batch: every bit is the same.
    tolerance = ROUNDING if precision == "float32" else 0.0
    encodes, decodes = [], []
    for seed, (kept, new, written, rows) in enumerate(streams):
        state = encoded(runtime, kept, seed)
        encodes.append(EncodeRequest(state, ids(new, seed + 100), np.full(new, kept + new)))
        memory = state or encoded(runtime, 3, seed)
        assert memory is not None
        limit = np.full(rows, memory.length)
        decodes.append(DecodeRequest(decoded(runtime, memory, written, seed), memory, ids(rows, seed + 200), limit))
    together, alone = runtime.encode(encodes), [runtime.encode([request])[0] for request in encodes]
    for one, other in zip(together, alone, strict=True):
        assert one.length == other.length
        np.testing.assert_allclose(read_back(runtime, one), read_back(runtime, other), atol=tolerance, rtol=0)
    for (joined, logits), request in zip(runtime.decode(decodes), decodes, strict=True):
        [(single, expected)] = runtime.decode([request])
        np.testing.assert_allclose(logits, expected, atol=tolerance, rtol=0)
        going_on = [DecodeRequest(each, request.memory, ids(1, 5), np.array([1])) for each in (joined, single)]
        after, expected_after = [runtime.decode([each])[0][1] for each in going_on]
        np.testing.assert_allclose(after, expected_after, atol=tolerance, rtol=0)


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("positions", BOTH_POSITIONS)
def test_a_state_is_a_value(both: MakeBoth, precision: Precision, positions: Positions) -> None:
    """Continued twice, in either order, or held on to while others go on: it stays what it was."""
    runtime = both("post", True, precision, positions).runtime
    memory = encoded(runtime, 6, 1)
    assert memory is not None
    state = decoded(runtime, memory, 4, 2)
    assert state is not None
    before = read_back(runtime, memory)

    def go_on(seed: int) -> tuple[TargetState, Floats]:
        [more] = runtime.encode([EncodeRequest(memory, ids(2, seed), np.array([8, 8]))])
        return runtime.decode([DecodeRequest(state, more, ids(2, seed), np.array([8, 8]))])[0]

    (first, first_logits), (_, second_logits) = go_on(3), go_on(4)
    assert np.abs(first_logits - second_logits).max() > 0.1
    np.testing.assert_array_equal(go_on(3)[1], first_logits)
    np.testing.assert_array_equal(read_back(runtime, memory), before)
    assert (state.length, first.length, memory.length) == (4, 6, 6)


def beam_step(states: list[TargetState], memory: SourceState, pieces: list[int]) -> list[DecodeRequest]:
    """A step of a beam: each state is continued by a piece of its own."""
    limit = np.array([memory.length])
    return [DecodeRequest(state, memory, np.array([piece]), limit) for state, piece in zip(states, pieces, strict=True)]


PATHS = [[40, 50, 60], [41, 52, 62], [41, 52, 63], [41, 51, 61]]
"""Pieces of four hypotheses. The second and the third part late."""


def search(runtime: Runtime, begun: list[tuple[TargetState, SourceState]]) -> list[list[tuple[TargetState, Floats]]]:
    """Three steps of a beam over PATHS, of several streams together."""
    alive = [[(state, np.zeros(0, dtype=np.float32))] * len(PATHS) for state, _ in begun]
    for step in range(3):
        # Four hypotheses begin at one state; in the next steps two of them continue one and the same.
        parents = [0, 1, 2, 3] if step == 0 else [0, 1, 1, 3] if step == 1 else [0, 1, 2, 3]
        requests = [
            beam_step([found[parent][0] for parent in parents], memory, [path[step] for path in PATHS])
            for found, (_, memory) in zip(alive, begun, strict=True)
        ]
        results = runtime.decode([request for beam in requests for request in beam])
        alive = [results[place : place + len(PATHS)] for place in range(0, len(results), len(PATHS))]
    return alive


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("positions", BOTH_POSITIONS)
def test_hypotheses_are_rows_of_one_stream(both: MakeBoth, precision: Precision, positions: Positions) -> None:
    """Each gets what it gets as a stream of its own, up to rounding; and in a batch, what its beam gets alone."""
    runtime = both("pre", True, precision, positions).runtime
    begun = []
    for seed in range(6):
        memory = encoded(runtime, 7 + seed, seed)
        assert memory is not None
        state = decoded(runtime, memory, 60 + seed, seed)
        assert state is not None
        begun.append((state, memory))
    together = search(runtime, begun)
    for start, found in zip(begun, together, strict=True):
        [alone] = search(runtime, [start])
        for path, (state, logits), (_, same) in zip(PATHS, found, alone, strict=True):
            np.testing.assert_allclose(logits, same, atol=ROUNDING if precision == "float32" else 0.0, rtol=0)
            expected_state, memory = start
            for piece in path:
                [(expected_state, expected)] = runtime.decode(beam_step([expected_state], memory, [piece]))
            assert state.length == expected_state.length
            bound = ROUNDING if precision == "float32" else 0.02 * float(np.ptp(expected))
            np.testing.assert_allclose(logits, expected, atol=bound, rtol=0)
            # A hypothesis goes on like any other state: by several rows, or cut.
            going_on = [
                runtime.decode([DecodeRequest(each, memory, ids(2, 3), np.full(2, memory.length))])[0][1]
                for each in (state, expected_state, state.truncated(state.length - 1))
            ]
            np.testing.assert_allclose(going_on[0], going_on[1], atol=bound, rtol=0)
            assert np.abs(going_on[2] - going_on[1]).max() > 100 * ROUNDING


def test_hypotheses_do_not_change_what_they_begin_at(both: MakeBoth) -> None:
    runtime = both("pre", True, "int8").runtime
    memory = encoded(runtime, 6, 1)
    assert memory is not None
    state = decoded(runtime, memory, 4, 2)
    assert state is not None
    [(_, before)] = runtime.decode(beam_step([state], memory, [44]))
    [first] = search(runtime, [(state, memory)])
    [second] = search(runtime, [(state, memory)])
    for (_, one), (_, other) in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    [(_, after)] = runtime.decode(beam_step([state], memory, [44]))
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("positions", BOTH_POSITIONS)
def test_int8_is_near_float32_however_it_is_cut(both: MakeBoth, positions: Positions) -> None:
    transformer, runtime = both("pre", True, "int8", positions)
    source, target = ids(60, 1), ids(40, 2)
    reach, limit = np.arange(1, 61), np.minimum(np.arange(1, 41) + 20, 60)
    expected = torch_logits(transformer, source, reach, target, limit)
    whole = runtime_logits(runtime, source, reach, target, limit, [60], 40)[-1]
    cut = runtime_logits(runtime, source, reach, target, limit, [1, 2, 9, 59, 60], 1)
    error = np.abs(cut - expected)
    assert 0 < error.max() < 0.05 * np.ptp(expected)
    assert error.mean() < 0.01 * np.ptp(expected)
    assert np.abs(cut[-1] - whole).max() <= error.max()


def test_a_large_row_costs_others_no_precision(tmp_path: Path) -> None:
    """With one scale for a whole call, the first product of all other rows would be rounded to nothing."""
    shape = tiny_shape("post", joint=False)
    model = random_transformer(shape)
    with torch.no_grad():
        model.source_embedding.weight[LARGE] *= 10_000
    save_subwords(shape, tmp_path)
    write_folder(tmp_path / "model", config_of(shape, "int8"), weights_of(model), "card", tmp_path)
    runtime = Runtime(load_folder(tmp_path / "model"))
    source, target, limit = np.append(ids(20, 1), LARGE), ids(21, 2), np.arange(1, 22)
    expected = torch_logits(model, source, limit, target, limit)
    found = runtime_logits(runtime, source, limit, target, limit, [21], 21)
    assert np.abs(found[-1] - expected[-1]).max() < 0.05 * np.ptp(expected[-1])


def test_no_product_of_integers_saturates(tmp_path: Path) -> None:
    """On CPUs whose 8-bit multiplication adds pairs in 16 bits, the largest numbers are the test."""
    columns = 8
    matrix = np.full((64, columns), LARGEST, dtype=np.int8)
    scales = {"one": np.float32(1), "scale": np.ones(columns, np.float32)}
    constants = {"matrix": matrix, **scales, "zero": np.uint8(0), "signed zero": np.int8(0)}
    product = helper.make_node(
        "MatMulIntegerToFloat", ["x", "matrix", "one", "scale", "zero", "signed zero"], ["y"], domain="com.microsoft"
    )
    graph = helper.make_graph(
        [product],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, columns])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save_model(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "product.onnx")
    loaded = load_graph(tmp_path / "product.onnx")
    [found] = loaded.run(None, {"x": np.full((1, 64), 255, dtype=np.uint8)})
    np.testing.assert_array_equal(found, np.full((1, columns), 64 * 255 * LARGEST, dtype=np.float32))


def test_warming_up_loads_no_more_than_was_asked_for(both: MakeBoth) -> None:
    runtime = both("post", False, "int8").runtime
    runtime.warm_up(2)
    assert set(runtime._encoder._loaded) == set(runtime._decoder._loaded) == {1, 4}
