"""Runs a model folder with the package turia-kernels: the same requests and the same states as graphs.py's runtime.

The step is native code that reads the folder's weights, not its graphs. It writes new keys and values where they are
kept, so nothing is copied, and takes the rows of all streams at once. Every row is computed by itself: it has the same
bits alone, in a batch, as a hypothesis of a beam, and however a window is cut into calls. From ONNX Runtime's results
they differ as those differ between calls that are cut otherwise (docs/decisions/015).

Letters: N rows of all streams, R new rows of one, H heads, E head size, V vocabulary, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from turia.engine.backend import (
    DecodeRequest,
    EncodeRequest,
    LookRequest,
    Looks,
    Requests,
    Searched,
    SearchRequest,
    SearchRules,
    call_for,
)
from turia.engine.choosing import NO_NUMBERS, Best
from turia.errors import ModelError
from turia.runtime.folder import WEIGHTS_FILE, ModelFolder
from turia.runtime.packed import LOGITS, MEMORY, PACKED_FILE, shared_matrices
from turia.runtime.rows import Columns, Floats
from turia.runtime.states import Beginnings, SourceState, TargetState, beams, is_hypothesis, nothing
from turia.runtime.tensors import Tensors, check_numbers, let_go, map_weights, read_stored
from turia.runtime.weights import decoder_layers, encoder_layers
from turia.text.choice import Flags
from turia.text.layout import Ints
from turia.text.symbols import CLOSING_IDS, STOPPING_IDS

if TYPE_CHECKING:
    from turia_kernels import Aim, Kernels, Norm, PackedLayer, PackedMatrix, PackedRules, PackedSide, Part


_CLOSING, _STOPPING = np.array(CLOSING_IDS, dtype=np.int64), np.array(STOPPING_IDS, dtype=np.int64)
_LARGEST = 63
"""Weight of an export. Native code adds two products with unsigned bytes in 16 bits."""


class NativeRuntime:
    """A model, ready to run."""

    def __init__(self, folder: ModelFolder, kernels: Kernels) -> None:
        """A folder that native code can run (kernels.py)."""
        from turia_kernels import Aim, DraftAim, Part, address

        shape = folder.config.shape
        self._part, self._address, self._new_aim, self._new_draft = Part, address, Aim, DraftAim
        self._rules: dict[tuple[int, bool], tuple[SearchRules, PackedRules]] = {}
        self.kernels, self._path = kernels, folder.path
        self._encoder, self._decoder = _Packer(folder, kernels).sides()
        self._layers, self._heads = shape.decoder_layers, shape.heads
        self.can_look = folder.can_look
        self.gives_states = True
        self._begin = Beginnings(
            nothing(shape, shape.encoder_layers, zeros=False), nothing(shape, shape.decoder_layers, zeros=False)
        )

    def warm_up(self, streams: int, beam: int = 1) -> None:
        """Nothing is loaded later: a step of any size runs at once."""

    def choose(self, logits: Sequence[Floats], forbidden: Sequence[Flags], before: Sequence[float], count: int) -> Best:
        """The best continuations of a beam, as `turia.engine.choosing.Choose` says."""
        return Best(*self.kernels.choose(logits, forbidden, before, _CLOSING, count))

    @property
    def overlaps(self) -> bool:
        """Whether steps that have begun go on while Python does something else."""
        return self.kernels.threads > 1

    def begin(self, requests: Requests, at_once: int) -> Callable[[], Sequence[Any]]:
        """Begins a step of these requests, one of so many at the same time; gives what waits for its results."""
        begun: Callable[[], Sequence[Any]] = getattr(self, f"_{call_for(requests)}")(requests, at_once)
        return begun

    def encode(self, requests: Sequence[EncodeRequest]) -> list[SourceState]:
        """The state of each request with its new positions."""
        return self._encode(requests)()

    def decode(self, requests: Sequence[DecodeRequest]) -> list[tuple[TargetState, Floats]]:
        """The state of each request with its new rows, and the logits [V] of the last row."""
        return self._decode(requests)()

    def search(self, requests: Sequence[SearchRequest]) -> list[Searched]:
        """A beam search from each request on, all of it in native code."""
        return self._search(requests)()

    def look(self, requests: Sequence[LookRequest]) -> list[Looks]:
        """As `decode`, with logits and cross-attention of all new rows."""
        return self._look(requests)()

    def _encode(self, requests: Sequence[EncodeRequest], at_once: int = 1) -> Callable[[], list[SourceState]]:
        parts, grown, lengths = [], [], []
        for request in requests:
            state, new = self._begin.encoded(request.state), len(request.ids)
            kept, memory = state.kept.claimed(state.length, new), state.memory.claimed(state.length, new)
            end = state.length + new
            grown.append((end, kept, memory))
            lengths += [end] * new
            parts.append(
                self._part(new, state.length, kept.room, kept.address, state.length, memory.room, memory.address)
            )
        limits = np.concatenate([request.reach for request in requests])
        _check(limits, lengths)
        ids = np.concatenate([request.ids for request in requests])
        running = self.kernels.run(self._encoder, parts, ids, _positions(parts), limits, holds=grown, at_once=at_once)

        def finish() -> list[SourceState]:
            states, _ = running.wait()
            results, row = [], 0
            for part, (end, kept, memory) in zip(parts, grown, strict=True):
                results.append(SourceState(end, kept, memory, states[row : row + part.rows]))
                row += part.rows
            return results

        return finish

    def _decode(
        self, requests: Sequence[DecodeRequest], at_once: int = 1
    ) -> Callable[[], list[tuple[TargetState, Floats]]]:
        step = _Step()
        for together in beams(requests):
            if len(together) > 1 or is_hypothesis(together[0]):
                self._add_beam(step, together)
            else:
                self._add_rows(step, together[0])
        running = self.kernels.run(self._decoder, *self._rows_of(step), holds=step, at_once=at_once)

        def finish() -> list[tuple[TargetState, Floats]]:
            states, logits = running.wait()
            assert logits is not None
            results, row = [], 0
            for begin, kept, seen, together in step.grown:
                if seen is None:
                    length = begin + len(together[0].ids)
                    results.append((TargetState(length, kept, states[row : row + 1]), logits[row]))
                    row += 1
                    continue
                for own in seen:
                    state = TargetState(len(own), kept, states[row : row + 1], own, begin + len(seen))
                    results.append((state, logits[row]))
                    row += 1
            return results

        return finish

    def _search(self, requests: Sequence[SearchRequest], at_once: int = 1) -> Callable[[], list[Searched]]:
        step = _Step()
        for request in requests:
            self._add_rows(step, request)
        aims = list(map(self._aim, requests))
        running = self.kernels.search(self._decoder, *self._rows_of(step), aims, holds=step, at_once=at_once)

        def finish() -> list[Searched]:
            states, every = running.wait()
            results = []
            for row, ((begin, kept, _, _), asked, found) in enumerate(zip(step.grown, requests, every, strict=True)):
                if not found.pieces and asked.draft is None:
                    raise ModelError(f"{self._path}: {NO_NUMBERS}")
                state = TargetState(begin + len(asked.ids), kept, states[row : row + 1])
                scores, margins = [score for score, _ in found.said], [top - score for score, top in found.said]
                results.append(Searched(state, found.pieces, scores, margins))
            return results

        return finish

    def _aim(self, request: SearchRequest) -> Aim:
        rules, complete = request.rules, request.complete
        known = self._rules.get((id(rules), complete))
        if known is None:
            from turia_kernels import PackedRules

            forbidden = rules.forbidden
            packed = PackedRules(
                at_start=forbidden.word_start_or_end if complete else forbidden.word_start,
                in_word=forbidden.in_word,
                borders=rules.borders,
                space_first=rules.space_first,
                penalty=rules.length_penalty,
                closing=_CLOSING,
                stopping=_STOPPING,
            )
            known = self._rules[id(rules), complete] = (rules, packed)
        # With the space first, a sentence that is being spoken may end a word by a closing symbol, and so the search.
        is_open = not complete and not rules.space_first
        draft = None if request.draft is None else self._new_draft(*request.draft)
        return self._new_aim(known[1], request.width, request.most, not complete, is_open, request.longest, draft)

    def _look(self, requests: Sequence[LookRequest], at_once: int = 1) -> Callable[[], list[Looks]]:
        step, attentions = _Step(), []
        for request in requests:
            sizes = (self._layers, self._heads, len(request.ids), request.memory.length)
            attentions.append(np.zeros(sizes, dtype=np.float32))
            step.alive.append(attentions[-1])
            self._add_rows(step, request, attentions[-1])
        running = self.kernels.run(self._decoder, *self._rows_of(step), holds=step, at_once=at_once)

        def finish() -> list[Looks]:
            states, logits = running.wait()
            assert logits is not None
            results, row = [], 0
            for (begin, kept, _, (asked,)), attention in zip(step.grown, attentions, strict=True):
                place = slice(row, row + len(asked.ids))
                state = TargetState(begin + len(asked.ids), kept, states[place])
                results.append(Looks(state, logits[place], attention))
                row = place.stop
            return results

        return finish

    def _add_rows(self, step: _Step, request: DecodeRequest, attention: Floats | None = None) -> None:
        """Rows one after the other."""
        state, memory = self._begin.in_order(request.state), self._begin.encoded(request.memory)
        begin, new = state.length, len(request.ids)
        kept = state.kept.claimed(begin, new)
        part = self._part(new, begin, kept.room, kept.address, 0, memory.memory.room, memory.memory.address)
        if attention is not None:
            part = part._replace(gives_all=1, attention=self._address(attention), attention_room=attention.shape[3])
        positions = range(begin, begin + new)
        step.positions += positions
        step.limits += [position + 1 for position in positions]
        step.add(part, (begin, kept, None, [request]), [request], memory.length)

    def _add_beam(self, step: _Step, together: Sequence[DecodeRequest]) -> None:
        """A row for each hypothesis: it sees its own columns, and itself. Their columns lie side by side."""
        states = [self._begin.decoded(request.state) for request in together]
        memory = self._begin.encoded(together[0].memory)
        begin, new = states[0].end, len(states)
        kept = states[0].kept.claimed(begin, new)
        lengths = [state.length for state in states]
        seen: Sequence[Ints]
        if min(lengths) == max(lengths):
            table = np.empty((new, lengths[0] + 1), dtype=np.int64)
            for row, state in enumerate(states):
                table[row, :-1] = state.columns()
            table[:, -1] = range(begin, begin + new)
            flat, seen = table, list(table)
        else:
            seen = [np.append(state.columns(), begin + row) for row, state in enumerate(states)]
            flat = np.concatenate(seen)
        step.alive.append(flat)
        part = self._part(
            *(new, begin, kept.room, kept.address, 0, memory.memory.room, memory.memory.address),
            seen=self._address(flat),
            gives_all=1,
        )
        step.positions += lengths
        step.limits += [length + 1 for length in lengths]
        step.add(part, (begin, kept, seen, together), together, memory.length)

    def _rows_of(self, step: _Step) -> tuple[list[Part], Ints, Ints, Ints, Ints]:
        """Parts, ids, positions, and what rows see of the target and of the source."""
        limits = np.concatenate([request.limit for request in step.requests])
        _check(limits, step.memory_lengths)
        ids = np.concatenate([request.ids for request in step.requests])
        positions, own = np.array(step.positions, dtype=np.int64), np.array(step.limits, dtype=np.int64)
        return step.parts, ids, positions, own, limits


Grown = tuple[int, Columns, Sequence[Ints] | None, Sequence[DecodeRequest]]
"""Where new columns begin, the buffer, the columns of each hypothesis of a beam, and the requests."""


class _Step:
    """A step of the decoder in the making."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.grown: list[Grown] = []
        self.requests: list[DecodeRequest] = []
        self.positions: list[int] = []
        self.limits: list[int] = []
        self.memory_lengths: list[int] = []
        self.alive: list[npt.NDArray[Any]] = []
        """What the parts point to."""

    def add(self, part: Part, grown: Grown, requests: Sequence[DecodeRequest], memory_length: int) -> None:
        self.parts.append(part)
        self.grown.append(grown)
        self.requests += requests
        self.memory_lengths += [memory_length] * part.rows


def _positions(parts: Sequence[Part]) -> Ints:
    return np.array([place for part in parts for place in range(part.begin, part.begin + part.rows)], dtype=np.int64)


def _check(limits: Ints, lengths: Sequence[int]) -> None:
    """Native code reads whatever it is told to. So these are no asserts, which `python -O` removes."""
    if limits.min() < 1:
        raise RuntimeError("a row that sees nothing")
    if (limits > lengths).any():
        raise RuntimeError("a row that sees what is not there")


# --- from the folder's tensors ----------------------------------------------------------------------------------------


class _Packer:
    """Packs the matrices of a folder."""

    def __init__(self, folder: ModelFolder, kernels: Kernels) -> None:
        self.folder, self.shape, self.kernels = folder, folder.config.shape, kernels
        self.mapped = map_weights(folder.path)
        self.tensors: Tensors = read_stored(folder.path, self.mapped)
        check_numbers(folder.path, self.tensors)
        self.shared = shared_matrices(folder)

    def sides(self) -> tuple[PackedSide, PackedSide]:
        """The encoder and the decoder."""
        shape = self.shape
        source = "target_embedding" if shape.joint else "source_embedding"
        logits = self.packed(
            LOGITS,
            self.small("target_embedding", shape.target_vocabulary, shape.width).T,
            self.tensor("target_embedding.scale", shape.target_vocabulary),
            self.tensor("logits_bias", shape.target_vocabulary) if shape.logits_bias else None,
        )
        memory = self.matrix(MEMORY, shape.width, 2 * shape.decoder_layers * shape.width)
        rows = {"source": shape.source_vocabulary, "target": shape.target_vocabulary}
        encoder = self.side(source, rows["target" if shape.joint else "source"], encoder_layers(shape), memory, False)
        decoder = self.side("target_embedding", rows["target"], decoder_layers(shape), logits, True)
        # Matrices were copied or are shared as packed ones: of this file only embeddings are looked at from now on.
        let_go(self.mapped)
        return encoder, decoder

    def side(
        self, embedding: str, pieces: int, layers: list[str], output: PackedMatrix, is_decoder: bool
    ) -> PackedSide:
        from turia_kernels import PackedSide

        shape = self.shape
        places: dict[str, Any]
        if shape.positions == "rotary":
            sizes = (shape.max_positions, shape.head_size // 2)
            places = {"rotations": (self.copy("rotary.cosines", *sizes), self.copy("rotary.sines", *sizes))}
        else:
            places = {"sinusoids": self.copy("sinusoids", shape.max_positions, shape.width)}
        last = "decoder_norm" if is_decoder else "encoder_norm"
        return PackedSide(
            heads=shape.heads,
            layers=[self.layer(layer, is_decoder) for layer in layers],
            decoder_layers=shape.decoder_layers,
            is_decoder=is_decoder,
            activation=shape.activation,
            embedding=self.small(embedding, pieces, shape.width),
            embedding_scale=self.copy(f"{embedding}.scale", pieces),
            embedding_factor=float(np.float32(shape.width**0.5)) if shape.scaled_embedding else 1.0,
            output=output,
            last=self.norm(last) if shape.pre_norm else None,
            **places,
        )

    def layer(self, name: str, is_decoder: bool) -> PackedLayer:
        from turia_kernels import PackedLayer

        width, inner = self.shape.width, self.shape.feed_forward
        cross: dict[str, Any] = {}
        if is_decoder:
            cross["around_cross"] = self.norm(f"{name}.around_cross_attention.norm")
            cross["cross"] = self.matrix(f"{name}.cross_attention", width, width)
            cross["cross_output"] = self.matrix(f"{name}.cross_attention.output", width, width)
        return PackedLayer(
            around_attention=self.norm(f"{name}.around_attention.norm"),
            around_feed_forward=self.norm(f"{name}.around_feed_forward.norm"),
            attention=self.matrix(f"{name}.attention", width, 3 * width),
            attention_output=self.matrix(f"{name}.attention.output", width, width),
            expand=self.matrix(f"{name}.feed_forward.expand", width, inner),
            contract=self.matrix(f"{name}.feed_forward.contract", inner, width, self.shape.activation == "relu"),
            **cross,
        )

    def matrix(self, name: str, inputs: int, outputs: int, positive: bool = False) -> PackedMatrix:
        weight, scale = self.small(name, inputs, outputs), self.tensor(f"{name}.scale", outputs)
        return self.packed(name, weight, scale, self.tensor(f"{name}.bias", outputs), positive)

    def packed(self, name: str, weight: Any, scale: Any, bias: Any, positive: bool = False) -> PackedMatrix:
        """The matrix as it lies in the folder, where all processes share it, or else one of this process."""
        made = self.kernels.pack(weight, scale, bias, positive)
        shared = self.shared.get(name)
        if shared is None:
            return made
        if not np.array_equal(shared, made.packed):
            raise ModelError(f"{self.folder.path / PACKED_FILE}: {name} is not the one of {WEIGHTS_FILE}")
        return replace(made, packed=shared)

    def norm(self, name: str) -> Norm:
        from turia_kernels import Norm

        return Norm(self.copy(f"{name}.weight", self.shape.width), self.copy(f"{name}.bias", self.shape.width))

    def copy(self, name: str, *sizes: int) -> npt.NDArray[Any]:
        return np.array(self.tensor(name, *sizes))

    def small(self, name: str, *sizes: int) -> npt.NDArray[np.int8]:
        """The int8 weights of a matrix or of an embedding."""
        weights = self.tensor(f"{name}.weight", *sizes, kind=np.int8)
        if int(weights.max(initial=0)) > _LARGEST or int(weights.min(initial=0)) < -_LARGEST:
            raise ModelError(f"{self.folder.path}: {name}.weight has numbers beyond {_LARGEST}, which no export writes")
        return weights

    def tensor(self, name: str, *sizes: int, kind: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        """A tensor that must be there and have these sizes and numbers of this kind: native code looks no more."""
        tensor = self.tensors.get(name)
        if tensor is None or tensor.shape != sizes:
            found = "is missing" if tensor is None else f"has the sizes {tensor.shape}"
            raise ModelError(f"{self.folder.path}: the graphs do not fit config.json: {name} {found}, expected {sizes}")
        if tensor.dtype != kind:
            raise ModelError(f"{self.folder.path}: {name} has numbers of {tensor.dtype}, expected {np.dtype(kind)}")
        return tensor
