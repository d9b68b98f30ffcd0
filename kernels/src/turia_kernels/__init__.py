"""Steps of Turia's Transformer in native code: int8 products, attention, and beam searches.

Turia uses this package where it is installed and fits the model, and ONNX Runtime otherwise. It knows nothing of model
folders: `turia.runtime.native` hands over matrices and buffers.
"""

from turia_kernels.library import (
    INTERFACE,
    Aim,
    DraftAim,
    Found,
    Kernels,
    Norm,
    PackedLayer,
    PackedMatrix,
    PackedRules,
    PackedSide,
    Running,
    variants,
)
from turia_kernels.structs import Part, address

__all__ = [
    "INTERFACE",
    "Aim",
    "DraftAim",
    "Found",
    "Kernels",
    "Norm",
    "PackedLayer",
    "PackedMatrix",
    "PackedRules",
    "PackedSide",
    "Part",
    "Running",
    "address",
    "variants",
]
