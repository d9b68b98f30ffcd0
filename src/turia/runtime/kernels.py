"""Which code runs a model: native code where it fits, ONNX Runtime everywhere else.

Native code is the package turia-kernels, which nobody needs. It runs int8 models on the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal, get_args

from turia.engine.choosing import Choose, best_continuations
from turia.errors import ConfigError, InputError
from turia.runtime.folder import ModelFolder
from turia.runtime.graphs import Runtime, check_arguments
from turia.runtime.native import NativeRuntime
from turia.system.onnx import CPU

Kernels = Literal["auto", "onnx", "onnx-shared", "native"]
"""`auto` is native code where it fits. `onnx-shared` is ONNX Runtime without copies of the weights in another order:
slower, but processes that load the same model share them."""
VARIABLE = "TURIA_KERNELS"
"""The choice of processes that are given no other."""
_PACKAGE = "turia_kernels"
_INTERFACE = 6
"""Of the package, as this release uses it."""
_LANES = 16
"""Numbers that native code computes at once: sizes are multiples of it."""
_SLOW = "portable"
"""A variant of the package that is slower than ONNX Runtime."""


def open_runtime(
    folder: ModelFolder, threads: int = 1, providers: Sequence[str] = CPU, kernels: Kernels | None = None
) -> Runtime | NativeRuntime:
    """The model of a folder, ready to run. Without `kernels`, the variable TURIA_KERNELS says which, or `auto`."""
    check_arguments(threads, providers)
    chosen = chosen_kernels(kernels)
    if chosen == "onnx-shared":
        return Runtime(folder, threads, providers, packs=False)
    reason = None if chosen == "onnx" else why_not_native(folder, providers)
    if chosen == "native" and reason is not None:
        raise InputError(f"kernels are 'native', but {reason}; choose 'auto' or 'onnx'")
    if chosen == "onnx" or reason is not None:
        return Runtime(folder, threads, providers)
    from turia_kernels import Kernels as Library

    return NativeRuntime(folder, Library(threads=threads))


def choose_of(runtime: Runtime | NativeRuntime) -> Choose:
    """How beams find their best continuations beside this runtime."""
    return runtime.choose if isinstance(runtime, NativeRuntime) else best_continuations


def chosen_kernels(kernels: str | None) -> Kernels:
    """What was given, or what the environment says."""
    given = kernels or os.environ.get(VARIABLE) or "auto"
    found: Kernels | None = next((one for one in get_args(Kernels) if one == given), None)
    if found is None:
        where = "kernels" if kernels else VARIABLE
        raise ConfigError(f"{where} is {given!r}, expected {', '.join(get_args(Kernels))}")
    return found


def why_not_native(folder: ModelFolder, providers: Sequence[str] = CPU) -> str | None:
    """The reason for which native code cannot run this model here, or None."""
    shape = folder.config.shape
    if (missing := why_no_package()) is not None:
        return missing
    if folder.config.precision != "int8":
        return f"the model is {folder.config.precision}, and native code runs int8 models"
    if shape.head_size % _LANES or shape.feed_forward % _LANES:
        sizes = f"{shape.head_size} and {shape.feed_forward}"
        return f"heads and feed-forward layers have the sizes {sizes}, and native code takes multiples of {_LANES}"
    if tuple(providers) != CPU:
        return f"it is to run with {providers[0]}, and native code runs on the CPU"
    return None


def why_no_package() -> str | None:
    """The reason for which the package cannot be used here, or None."""
    if find_spec(_PACKAGE) is None:
        return "the package turia-kernels is not installed (docs/install.md)"
    try:
        import turia_kernels
    except (ImportError, OSError) as error:  # built for another system, for one
        return f"the package turia-kernels cannot be loaded: {error}"
    if turia_kernels.INTERFACE != _INTERFACE:
        return (
            f"turia-kernels has interface {turia_kernels.INTERFACE}, and this Turia uses {_INTERFACE}: "
            "install the release of it that belongs to this Turia"
        )
    if turia_kernels.variants()[0] == _SLOW:
        return "this processor has neither AVX2 nor NEON"
    return None


def named(runtime: object) -> str:
    """Which code runs a model, for people."""
    if isinstance(runtime, NativeRuntime):
        return f"native ({runtime.kernels.variant})"
    return "ONNX Runtime"
