"""The numbers that training multiplies matrices in: float32, or 16 bits where the machine has instructions for them.

Weights, gradients and the optimiser's memory are float32 in any case.
"""

from __future__ import annotations

import torch


def half_type(device: torch.device, cpu_bfloat16: bool) -> torch.dtype | None:
    """The 16-bit type to train with on this device; None is float32.

    A GPU has bfloat16 where it computes it itself, else float16. A CPU has bfloat16 only if it is asked for
    (`training.cpu_bfloat16`) and has instructions for it: on other CPUs it is emulated, slowly, or crashes.
    """
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    return torch.bfloat16 if cpu_bfloat16 and multiplies_bfloat16() else None


def multiplies_bfloat16() -> bool:
    """Whether this CPU has instructions of its own for products of bfloat16 numbers."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
