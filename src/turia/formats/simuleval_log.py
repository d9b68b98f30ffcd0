"""SimulEval's `instances.log`: one JSON object a line for each instance, which here is a whole stream.

    {"index":0,"prediction":"...","delays":[3,4,...],"elapsed":[0,...],"prediction_length":29,"reference":"...",
     "source":"...","source_length":30}

Text in, so delays count words and nothing is known of the computation (`elapsed` is 0, as SimulEval itself writes it).
SimulEval's `--score-only` wants `config.yaml` beside it. Reading takes logs of speech too: their delays and lengths
are milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Never

from turia.errors import FormatError
from turia.evaluation.inputs import StreamLog, read_lines
from turia.formats.recording import Recording
from turia.text.counted import counted

LOG_FILE, CONFIG_FILE = "instances.log", "config.yaml"
_SMALLEST, _LARGEST = 0.001, 1e15
"""Milliseconds of a recording, or words of a text: nobody has less or more."""


def simuleval_files(recordings: Sequence[Recording]) -> dict[str, str]:
    """The files of SimulEval's output folder."""
    lines = [json.dumps(_instance(index, recording)) + "\n" for index, recording in enumerate(recordings)]
    return {LOG_FILE: "".join(lines), CONFIG_FILE: "source_type: text\ntarget_type: text\n"}


def _instance(index: int, recording: Recording) -> dict[str, Any]:
    words = recording.trace.words()
    source = " ".join(recording.source).split()
    return {
        "index": index,
        "prediction": " ".join(words),
        "delays": recording.trace.delays(),
        "elapsed": [0] * len(words),
        "prediction_length": len(words),
        # SimulEval counts a reference's words by its single spaces.
        "reference": " ".join(" ".join(recording.log.references).split()),
        "source": " ".join(source),
        "source_length": len(source),
    }


def read_instances(path: Path) -> list[StreamLog]:
    """The streams of an instances.log: each instance is one, and has one reference."""
    return [_stream(line, path, number) for number, line in enumerate(read_lines(path), start=1) if line.strip()]


def _stream(line: str, path: Path, number: int) -> StreamLog:
    try:
        data = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # also a number of 5,000 digits, brackets 5,000 deep
        raise FormatError(f"not JSON: {error}", path, number) from error
    if not isinstance(data, dict):
        raise FormatError("expected a JSON object", path, number)
    prediction, reference = _text(data, "prediction", path, number), _text(data, "reference", path, number)
    length, delays = data.get("source_length"), data.get("delays")
    if not isinstance(length, int | float) or not _is_number(length) or length < _SMALLEST:
        raise FormatError(f"source_length is {length!r:.30}, expected a number from {_SMALLEST}", path, number)
    if not isinstance(delays, list) or not all(map(_is_number, delays)):
        raise FormatError("delays is not a list of numbers", path, number)
    if any(later < earlier for earlier, later in pairwise([0, *delays])):
        raise FormatError("delays go back, or begin below 0; expected what had been read at each word", path, number)
    words = prediction.split()
    if len(words) != len(delays):
        raise FormatError(
            f"{counted(len(words), 'word')}, but {counted(len(delays), 'delay')}; expected words as the unit",
            path,
            number,
        )
    # By single spaces: one too many, or at the end of a line, is a word to SimulEval.
    return StreamLog([length], [reference.strip()], words, delays, simuleval_words=[len(reference.split(" "))])


def _text(data: dict[str, Any], key: str, path: Path, number: int) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise FormatError(f"{key} is {value!r}, expected text", path, number)
    return value


def _is_number(value: Any) -> bool:
    # Written so that NaN is refused too.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON number")
