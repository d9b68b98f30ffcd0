"""Runs a model folder's graphs with ONNX Runtime: numpy in, numpy out, no torch.

A state is an immutable value: what an encoder or a decoder keeps of the positions so far. States of one sequence share
a buffer with room to grow, into which each call writes its new columns behind the old ones; the second of two
continuations of one state gets a copy. So a step costs what is new in it, and a state that somebody holds on to never
changes. Requests of one call that continue one buffer by a row each are hypotheses of a beam: they share the buffer,
and go through the graph as rows of one stream, each with a mask of its own (rows.py).

Several requests go through one graph together, and each gets what it would get alone: to the last bit with int8, up to
the rounding of sums with float32. The hypotheses of a beam count as one here: they stay together. The same calls give
the same bits. Rows that are cut into other calls give the same up to rounding, which int8 makes larger
(docs/decisions/015). One thread at a time may use a runtime.

Letters: R new rows, H heads, E head size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state

from turia.engine.backend import DecodeRequest, EncodeRequest, LookRequest, Looks
from turia.errors import InputError, ModelError
from turia.runtime.folder import STREAMS, ModelFolder, Side, graph_file
from turia.runtime.rows import Floats, NewRows, feeds, places, rows_in_order, rows_of_hypotheses, with_memory
from turia.runtime.states import Beginnings, SourceState, TargetState, beams, is_hypothesis, nothing
from turia.runtime.tensors import check_numbers, read_stored
from turia.schema import Positive, Rule, checked
from turia.system.onnx import CPU, first_line, load_graph

T = TypeVar("T")

_GRAPH_ERRORS: tuple[type[Exception], ...] = (
    RuntimeError,
    IndexError,
    ValueError,
    *(
        found
        for found in vars(onnxruntime_pybind11_state).values()
        if isinstance(found, type) and issubclass(found, Exception)
    ),
)
"""What a graph that does not fit leads to: ONNX Runtime's own exceptions, which share no base, and numpy's."""


class Runtime:
    """A model, ready to run."""

    def __init__(
        self, folder: ModelFolder, threads: int = 1, providers: Sequence[str] = CPU, packs: bool = True
    ) -> None:
        """`threads` within one step; ONNX Runtime's `providers`, the preferred one first; whether it `packs` weights
        for speed, or uses the file's, which all processes share (docs/model-folder.md#memory)."""
        check_arguments(threads, providers)
        shape = folder.config.shape
        load = partial(load_graph, threads=threads, providers=providers, packs=packs)
        self._encoder = _Graphs(folder.path, "encoder", load)
        self._decoder = _Graphs(folder.path, "decoder", load)
        self._looker = _Graphs(folder.path, "look", load)
        self.can_look = folder.can_look
        self.gives_states = self._encoder.gives_states() and self._decoder.gives_states()
        self._begin = Beginnings(nothing(shape, shape.encoder_layers), nothing(shape, shape.decoder_layers))
        self._check(folder)
        check_numbers(folder.path, read_stored(folder.path))

    def warm_up(self, streams: int, beam: int = 1) -> None:
        """Loads the graphs for up to so many streams and runs each once, so that no later step has to begin."""
        one = np.ones(1, dtype=np.int64)
        # Without graphs for beams, each hypothesis is a stream.
        most = streams if self.can_look else streams * beam
        for size in STREAMS:
            [memory, *_] = self.encode([EncodeRequest(None, one, one)] * size)
            states = [state for state, _ in self.decode([DecodeRequest(None, memory, one, one)] * size)]
            if beam > 1:
                self.decode([DecodeRequest(state, memory, one, one) for state in states for _ in range(2)])
            if size >= most:
                break

    def encode(self, requests: Sequence[EncodeRequest]) -> list[SourceState]:
        """The state of each request with its new positions."""
        results = []
        for group in _groups(requests):
            states = [self._begin.encoded(request.state) for request in group]
            rows = [
                rows_in_order(request.ids, request.reach, state.length, state.kept)
                for request, state in zip(group, states, strict=True)
            ]
            kept, memory, *given = self._encoder.run(rows)
            for state, place in zip(states, _places(rows), strict=True):
                results.append(
                    SourceState(
                        state.length + place.stop - place.start,
                        state.kept.extended(state.length, kept[:, :, place]),
                        state.memory.extended(state.length, memory[:, :, place]),
                        given[0][place] if given else None,
                    )
                )
        return results

    def decode(self, requests: Sequence[DecodeRequest]) -> list[tuple[TargetState, Floats]]:
        """The state of each request with its new rows, and the logits [V] of the last row."""
        if len(requests) == 1 and not is_hypothesis(requests[0]):
            return self._decode_alone(requests)
        joined: list[Sequence[DecodeRequest]] = []
        alone: list[DecodeRequest] = []
        order: list[tuple[bool, int]] = []
        """Of each request: whether it is one of a beam, and its place among those or the others."""
        found = beams(requests) if self.can_look else [[request] for request in requests]
        for together in found:
            is_beam = len(together) > 1 or is_hypothesis(together[0])
            before = sum(map(len, joined)) if is_beam else len(alone)
            order += [(is_beam, before + place) for place in range(len(together))]
            if is_beam:
                joined.append(together)
            else:
                alone += together
        results = {True: self._decode_beams(joined), False: self._decode_alone(alone)}
        return [results[is_beam][place] for is_beam, place in order]

    def _decode_alone(self, requests: Sequence[DecodeRequest]) -> list[tuple[TargetState, Floats]]:
        results = []
        for group in _groups(requests):
            states = [self._begin.in_order(request.state) for request in group]
            rows = [self._rows(request, state) for request, state in zip(group, states, strict=True)]
            kept, logits, *given = self._decoder.run(rows)
            for stream, (state, place) in enumerate(zip(states, _places(rows), strict=True)):
                last = given[0][stream : stream + 1] if given else None
                results.append((_extended(state, kept[:, :, place], last), logits[stream]))
        return results

    def _decode_beams(self, beams: Sequence[Sequence[DecodeRequest]]) -> list[tuple[TargetState, Floats]]:
        """Each beam is one stream; the graph that looks gives the logits of all rows."""
        results = []
        for group in _groups(beams):
            states = [[self._begin.decoded(request.state) for request in beam] for beam in group]
            rows = []
            for beam, own in zip(group, states, strict=True):
                memory = self._begin.encoded(beam[0].memory)
                ids, limits = (np.concatenate(parts) for parts in zip(*((r.ids, r.limit) for r in beam), strict=True))
                new = rows_of_hypotheses(ids, [state.columns() for state in own], own[0].kept)
                rows.append(with_memory(new, memory.memory, memory.length, limits))
            kept, logits, *given = self._looker.run(rows, attention=False)
            for own, place in zip(states, _places(rows), strict=True):
                begin = own[0].end
                columns = own[0].kept.extended(begin, kept[:, :, place])
                for row, state in enumerate(own):
                    last = given[0][place.start + row : place.start + row + 1] if given else None
                    seen = np.append(state.columns(), begin + row)
                    grown = TargetState(state.length + 1, columns, last, seen, begin + len(own))
                    results.append((grown, logits[place.start + row]))
        return results

    def look(self, requests: Sequence[LookRequest]) -> list[Looks]:
        """The same with logits and cross-attention of all new rows."""
        results = []
        for group in _groups(requests):
            olds = [self._begin.in_order(request.state) for request in group]
            rows = [self._rows(request, state) for request, state in zip(group, olds, strict=True)]
            kept, logits, *attention = self._looker.run(rows)
            # As many attentions as the graph has streams; states, which older graphs do not give, come after them.
            given = attention[_streams(len(rows)) :]
            for stream, (old, place) in enumerate(zip(olds, _places(rows), strict=True)):
                seen = attention[stream][:, :, :, : group[stream].memory.length]
                states = given[0][place] if given else None
                results.append(Looks(_extended(old, kept[:, :, place], states), logits[place], seen))
        return results

    def _rows(self, request: DecodeRequest, state: TargetState) -> NewRows:
        memory = self._begin.encoded(request.memory)
        causal = np.arange(state.length + 1, state.length + len(request.ids) + 1)
        rows = rows_in_order(request.ids, causal, state.length, state.kept)
        return with_memory(rows, memory.memory, memory.length, request.limit)

    def _check(self, folder: ModelFolder) -> None:
        """Runs the largest ids and the last position, so that graphs of another shape are found out now and not
        mid-stream. Those for several streams come from the same weights and are loaded when they are needed."""
        shape = folder.config.shape
        one = np.ones(1, dtype=np.int64)
        try:
            state = self.encode([EncodeRequest(None, one * (shape.source_vocabulary - 1), one)])[0]
            _, logits = self.decode([DecodeRequest(None, state, one * (shape.target_vocabulary - 1), one)])[0]
            length = shape.max_positions - 1
            kept, memory = self._begin.encoding.zeros(length), self._begin.decoding.zeros(length)
            state = self.encode([EncodeRequest(SourceState(length, kept, memory), one, one)])[0]
            self.decode([DecodeRequest(TargetState(length, memory), state, one, one)])
        except InputError:
            raise
        except _GRAPH_ERRORS as error:
            raise ModelError(f"{folder.path}: the graphs do not fit config.json: {first_line(error)}") from error
        if logits.shape != (shape.target_vocabulary,):
            raise ModelError(
                f"{folder.path}: the graphs have {len(logits)} target pieces, config.json has {shape.target_vocabulary}"
            )


def _extended(state: TargetState, kept: Floats, states: Floats | None) -> TargetState:
    """The state with the columns of new rows."""
    return TargetState(state.length + kept.shape[2], state.kept.extended(state.length, kept), states)


def _streams(count: int) -> int:
    """Of the smallest graph that takes so many."""
    return min(size for size in STREAMS if size >= count)


@dataclass(frozen=True)
class _Machine:
    """What a model is to run on."""

    threads: Positive
    providers: Annotated[tuple[str, ...], Rule(bool, f"the names of one or more, such as {CPU}")]


def check_arguments(threads: int, providers: Sequence[str]) -> None:
    """Refuses what no model can run on."""
    checked(_Machine, {"threads": threads, "providers": providers})


class _Graphs:
    """The graphs of one side, each loaded when it is first needed."""

    def __init__(self, folder: Path, side: Side, load: Callable[[Path], onnxruntime.InferenceSession]) -> None:
        self._folder, self._side, self._load = folder, side, load
        self._loaded: dict[int, onnxruntime.InferenceSession] = {}
        self._without_attention: dict[int, list[str]] = {}
        """Names of the results, by streams."""

    def run(self, rows: Sequence[NewRows], attention: bool = True) -> Any:
        """kept [A, H, N, E] of all new rows, and what else the graph gives: memory [A, H, N, E] or logits [B, V]."""
        streams = _streams(len(rows))
        # There are graphs for 1, 4 and 8 streams: places that are left over get the rows of the shortest stream.
        played = [*rows, *[min(rows, key=lambda one: len(one.ids))] * (streams - len(rows))]
        graph = self.graph(streams)
        wanted = None if attention else self._without_attention[streams]
        return graph.run(wanted, feeds(played, last=self._side == "decoder"))

    def gives_states(self) -> bool:
        """Folders of release 0.1 do not."""
        return any(output.name == "states" for output in self.graph(1).get_outputs())

    def graph(self, streams: int) -> onnxruntime.InferenceSession:
        if streams not in self._loaded:
            path = self._folder / graph_file(self._side, streams)
            graph = self._loaded[streams] = self._load(path)
            names = [output.name for output in graph.get_outputs()]
            self._without_attention[streams] = [name for name in names if not name.startswith("attention.")]
        return self._loaded[streams]


def _groups(requests: Sequence[T]) -> Iterator[Sequence[T]]:
    """What goes through a graph together. A place left over costs nearly as much as one in use, so there is at most
    one; two streams alone take less time than four of which two are for nothing."""
    begin = 0
    while begin < len(requests):
        left = len(requests) - begin
        end = begin + max(size for size in STREAMS if size <= left + 1 or size == 1)
        yield requests[begin:end]
        begin = end


def _places(rows: Sequence[NewRows]) -> list[slice]:
    """Where each stream's rows are among those of all."""
    return places([len(one.ids) for one in rows])
