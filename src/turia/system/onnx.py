"""ONNX graphs, loaded with ONNX Runtime: the one place where its options are set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnxruntime

from turia.errors import InputError, ModelError

CPU = ("CPUExecutionProvider",)
GPU = ("CUDAExecutionProvider", *CPU)
"""Needs `onnxruntime-gpu` in place of `onnxruntime`."""


def load_graph(
    path: Path, threads: int = 1, providers: Sequence[str] = CPU, *, keeps_memory: bool = True, packs: bool = True
) -> onnxruntime.InferenceSession:
    """The graph of a file, ready to run. Without `keeps_memory`, memory is given back after each run: inputs of ever
    new sizes, such as sound, would else keep a buffer for each. Unless it `packs` weights, they stay in the file, which
    is mapped into memory, and are shared by all graphs and processes."""
    missing = [name for name in providers if name not in onnxruntime.get_available_providers()]
    if missing:
        known = ", ".join(onnxruntime.get_available_providers())
        advice = "; install onnxruntime-gpu, or run on the CPU" if missing[0] in GPU else ""
        raise InputError(f"{missing[0]} is not in this installation of ONNX Runtime, which has {known}{advice}")
    if not path.is_file():
        raise ModelError(f"{path}: no such file")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # A plan of memory is kept for every combination of shapes, and streams have ever new ones.
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = keeps_memory
    if not packs:
        options.add_session_config_entry("session.disable_prepacking", "1")
    # Errors come as exceptions; the log would repeat them on standard error.
    options.log_severity_level = 4
    try:
        # The fused operator sums number by number: five times slower than addition and norm.
        graph = onnxruntime.InferenceSession(
            path, options, providers=list(providers), disabled_optimizers=["SkipLayerNormFusion"], enable_fallback=0
        )
    except Exception as error:  # onnxruntime raises its own exceptions, which share no other base
        raise ModelError(f"{path}: cannot be loaded: {first_line(error)}") from error
    if graph.get_providers()[0] != providers[0]:
        # Its libraries or its device are missing, and ONNX Runtime would go on without a word.
        raise InputError(
            f"{providers[0]} cannot be used on this machine; ONNX Runtime has no device or no driver for it"
        )
    return graph


def first_line(error: Exception) -> str:
    """What an exception of ONNX Runtime says, without the places in its source."""
    return next(iter(str(error).splitlines()), type(error).__name__)
