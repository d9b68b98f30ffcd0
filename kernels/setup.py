"""The C of this package: one shared library for all releases of Python from 3.11 on."""

from setuptools import Extension, setup

SOURCES = ("library", "portable", "avx2", "avx512", "neon", "dotprod")

setup(
    ext_modules=[
        Extension(
            "turia_kernels._step",
            [f"csrc/{name}.c" for name in SOURCES],
            depends=[f"csrc/{name}.h" for name in ("api", "head", "pool", "search", "simd", "step", "target")],
            # No contraction: what is fused is written so, and every processor rounds alike.
            extra_compile_args=[
                "-std=gnu11",
                "-O3",
                "-ffp-contract=off",
                "-fno-math-errno",
                "-fvisibility=hidden",
                "-g0",
                "-pthread",
            ],
            extra_link_args=["-pthread"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
