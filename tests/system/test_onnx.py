"""Loading graphs: what is refused, in one line that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from turia.errors import InputError, ModelError
from turia.system.onnx import first_line, load_graph


def test_an_unknown_provider_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"NoSuchProvider is not in this .* which has .*CPUExecutionProvider"):
        load_graph(tmp_path / "any.onnx", 1, ["NoSuchProvider"])


def test_files_that_are_missing_or_no_graph(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"any\.onnx: no such file$"):
        load_graph(tmp_path / "any.onnx")
    (tmp_path / "any.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelError, match=r"any\.onnx: cannot be loaded: .") as caught:
        load_graph(tmp_path / "any.onnx")
    assert "\n" not in str(caught.value)


def test_of_an_exception_its_first_line() -> None:
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(ValueError()) == "ValueError"
