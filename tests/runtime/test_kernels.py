"""Which code runs a model. What needs the package turia-kernels is skipped where it is not installed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from turia.engine.backend import DecodeRequest, EncodeRequest
from turia.engine.choosing import best_continuations
from turia.errors import ConfigError, InputError
from turia.runtime import kernels
from turia.runtime.folder import ModelFolder, load_folder
from turia.runtime.graphs import Runtime
from turia.runtime.kernels import VARIABLE, choose_of, chosen_kernels, named, open_runtime, why_not_native
from turia.runtime.native import NativeRuntime
from turia.runtime.translator import find_model
from turia.system.onnx import GPU

NEEDS = pytest.mark.skipif(kernels.why_no_package() is not None, reason=str(kernels.why_no_package()))


@pytest.fixture(scope="module")
def folder() -> ModelFolder:
    return load_folder(find_model("de-en"))


@pytest.fixture
def _without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.mark.usefixtures("_without_package")
def test_without_the_package_onnx_runtime_runs_everything(folder: ModelFolder) -> None:
    runtime = open_runtime(folder)
    assert isinstance(runtime, Runtime)
    assert choose_of(runtime) is best_continuations
    assert named(runtime) == "ONNX Runtime"
    with pytest.raises(InputError, match="kernels are 'native', but the package turia-kernels is not installed"):
        open_runtime(folder, kernels="native")


def test_weights_that_processes_share_give_the_same_scores(folder: ModelFolder) -> None:
    ids, full = np.arange(10, 15), np.full(5, 5)
    scores = []
    for name in ("onnx", "onnx-shared"):
        runtime = open_runtime(folder, kernels=name)
        assert isinstance(runtime, Runtime)
        [memory] = runtime.encode([EncodeRequest(None, ids, full)])
        [(_, logits)] = runtime.decode([DecodeRequest(None, memory, ids[:1], full[:1])])
        scores.append(logits)
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-4)


@NEEDS
def test_where_it_fits_native_code_runs(folder: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    runtime = open_runtime(folder)
    assert isinstance(runtime, NativeRuntime)
    assert choose_of(runtime) == runtime.choose
    assert named(runtime) == f"native ({runtime.kernels.variant})"
    threaded = open_runtime(folder, threads=2)
    assert isinstance(threaded, NativeRuntime)
    assert threaded.kernels.threads == 2
    monkeypatch.setenv(VARIABLE, "onnx")
    assert isinstance(open_runtime(folder), Runtime)
    assert isinstance(open_runtime(folder, kernels="native"), NativeRuntime)


@NEEDS
def test_what_native_code_cannot_run_it_says(folder: ModelFolder) -> None:
    shape, config = folder.config.shape, folder.config
    assert why_not_native(folder) is None
    float32 = replace(folder, config=replace(config, precision="float32"))
    assert why_not_native(float32) == "the model is float32, and native code runs int8 models"
    narrow = replace(folder, config=replace(config, shape=replace(shape, heads=32)))
    assert str(why_not_native(narrow)).startswith("heads and feed-forward layers have the sizes 8 and 1024")
    assert "CUDAExecutionProvider" in str(why_not_native(folder, GPU))


def test_a_package_of_another_release_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "find_spec", lambda name: name)
    other = SimpleNamespace(INTERFACE=7, variants=lambda: ["avx2"])
    monkeypatch.setitem(sys.modules, "turia_kernels", other)
    assert "turia-kernels has interface 7, and this Turia uses 6" in str(kernels.why_no_package())
    slow = SimpleNamespace(INTERFACE=6, variants=lambda: ["portable"])
    monkeypatch.setitem(sys.modules, "turia_kernels", slow)
    assert kernels.why_no_package() == "this processor has neither AVX2 nor NEON"


def test_without_a_package_that_can_be_loaded_onnx_runtime_runs_everything(
    folder: ModelFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "turia_kernels.py").write_text("raise ImportError('GLIBC_2.99 not found')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "turia_kernels", raising=False)
    monkeypatch.delenv(VARIABLE, raising=False)
    assert isinstance(open_runtime(folder), Runtime)
    assert kernels.why_no_package() == "the package turia-kernels cannot be loaded: GLIBC_2.99 not found"


def test_a_choice_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="kernels is 'fast', expected auto, onnx, onnx-shared, native"):
        chosen_kernels("fast")
    monkeypatch.setenv(VARIABLE, "fast")
    with pytest.raises(ConfigError, match="TURIA_KERNELS is 'fast', expected auto, onnx, onnx-shared, native"):
        chosen_kernels(None)
    assert chosen_kernels("onnx") == "onnx"
    monkeypatch.setenv(VARIABLE, "")
    assert chosen_kernels(None) == "auto"
