"""Inputs that hypothesis makes, for everything that reads what others wrote: python -m benchmarks.fuzz [TARGET ...]

    --count N      inputs for each target (100,000)
    --seconds S    and no more than so many seconds for each (300)

Each target gets nearly valid inputs, with letters left out, doubled and put in, and anything at all. It may refuse an
input with an error of `turia.errors`, in one line, or take it; whatever else it raises is a finding, and so is a second
for a single input. What a writer writes is read again by parsers that are not ours. The target `model` reads the JSON
and the lists of a model folder; whole folders are spoilt by benchmarks/mutated_folders.py. benchmarks/fuzz_guided.py
has the same targets, and inputs that are chosen by the code which they reach.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import srt
import webvtt
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.protocol.test_client_messages import near_messages
from turia.errors import TuriaError
from turia.formats.asr_feeds import InputFormat, heard
from turia.formats.output import caption_output
from turia.formats.subtitles import Format
from turia.protocol.client_messages import parse_client
from turia.protocol.events import EVENTS
from turia.protocol.server_messages import parse_server
from turia.runtime.folder import CONFIG_FILE, SUMS_FILE, _read_config, check_sums, read_sums
from turia.runtime.home import PACKAGED
from turia.schema import read_json
from turia.segmenter.classifier import SegmenterSettings
from turia.stream.trace import parse_trace

SLOW = 1.0
"""Seconds of the processor for one input."""
ROUND = 2000
ODD = '{}[]",:0123456789.-+eE\\u \t\n\r\x00\u202e\u2028\ufeff\ud800\U0001f600<>&'
Edits = list[tuple[int, int, str]]


def spoilt(text: str, edits: Edits) -> str:
    """The text with some letters left out and others put in."""
    for at, length, letters in edits:
        at %= len(text) + 1
        text = text[:at] + letters + text[at + length :]
    return text


edits = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 5), st.text(ODD, max_size=4)), max_size=4)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner)
)
times = st.floats(allow_nan=True) | st.integers(-(2**70), 2**70) | st.floats(0, 100)
words = st.text(max_size=20) | st.sampled_from(
    ["ka", "-->", "<b>", "&amp;", "\n\n1\n", "{\\an8}", "\u202e", "x" * 3000]
)


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- targets ----------------------------------------------------------------------------------------------------------

wire = st.builds(spoilt, near_messages.map(dumped) | anything.map(dumped), edits) | st.text(max_size=50)


def read_wire(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    for parse in (parse_client, parse_server):
        for given_as in (text, data):
            refusable(lambda parse=parse, given_as=given_as: parse(given_as))  # type: ignore[misc]


RECORDS = (
    {"type": "stream", "version": 1, "k": 2},
    {"type": "write", "word": "ka", "index": 0, "read": 2, "sentence": 0, "reason": "policy", "ms": 1.5},
    {"type": "sentence", "sentence": 0, "source_words": 2, "target_words": 1, "reason": "classifier"},
    {"type": "note", "code": "loop", "sentence": 0, "message": "m"},
    {"type": "end", "source_words": 2, "target_words": 1},
)
changed = st.dictionaries(
    st.sampled_from(["type", "index", "read", "sentence", "ms", "word", "at", "version"]), scalars
)
records = st.lists(st.builds(lambda one, more: one | more, st.sampled_from(RECORDS), st.just({}) | changed), max_size=6)
in_order = st.lists(st.just({}) | changed, min_size=len(RECORDS), max_size=len(RECORDS)).map(
    lambda changes: [one | more for one, more in zip(RECORDS, changes, strict=True)]
)
traces = st.builds(
    spoilt, (records | in_order).map(lambda some: "\n".join(map(dumped, some))), st.just([]) | st.just([]) | edits
)


def read_trace(text: str) -> None:
    refusable(lambda: parse_trace(text.split("\n")))


def near_feed() -> st.SearchStrategy[str]:
    word = st.fixed_dictionaries({"word": words, "start": times, "end": times}, optional={"punctuated_word": words})
    vosk = st.fixed_dictionaries({"result": st.lists(word, max_size=3), "text": words})
    deepgram = st.builds(
        lambda some, final: {"is_final": final, "channel": {"alternatives": [{"words": some, "transcript": "x"}]}},
        st.lists(word, max_size=3), st.booleans(),
    )  # fmt: skip
    whisper = st.builds("{} {} {}".format, times, times, words)
    line = (word | vosk | deepgram | anything).map(dumped) | whisper
    return st.builds(spoilt, st.lists(line, max_size=4).map("\n".join), edits)


def read_feeds(text: str) -> None:
    for kind in get_args(InputFormat):
        refusable(lambda kind=kind: list(heard(kind, text.split("\n"))))  # type: ignore[misc]


captions = st.lists(st.tuples(st.text(min_size=1, max_size=20) | words, st.floats(0, 1e12), st.booleans()), max_size=20)


def write_subtitles(said: list[tuple[str, float, bool]]) -> None:
    for kind in get_args(Format):
        write_captions(kind, [(word, ms, int(ends)) for word, ms, ends in said])


def write_captions(kind: Format, said: list[tuple[str, float, int]]) -> None:
    """Subtitles of whatever is said are subtitles to other people's parsers, and the times never go back.

    The number of an item is odd if the sentence ends there, and has a 2 in it if the text is a speaker's name.
    """
    file, last = io.StringIO(), 0.0
    output = caption_output(kind, file)
    for text, ms, what in said:
        if what & 2:
            output.speaker(text)
            continue
        last = max(last, ms)
        output.word(text, last)
        if what & 1:
            output.end_sentence()
    output.end_sentence()
    written = file.getvalue().encode("utf-8", "replace").decode()
    if kind == "srt":
        starts = [cue.start for cue in srt.parse(written)]
    else:
        starts = [cue.start_in_seconds for cue in webvtt.from_string(written).captions]
    assert starts == sorted(starts)


MODEL_FILES = {
    name: (PACKAGED / "de-en" / name).read_text(encoding="utf-8")
    for name in ("config.json", "segmenter.json", SUMS_FILE)
}


def with_other_values(name: str, changes: dict[str, Any]) -> tuple[str, str]:
    text = MODEL_FILES[name]
    return name, dumped(json.loads(text) | changes) if name.endswith(".json") else text


def spoilt_file(file: tuple[str, str], some: Edits) -> tuple[str, str]:
    return file[0], spoilt(file[1], some)


keys = sorted({key for name in ("config.json", "segmenter.json") for key in json.loads(MODEL_FILES[name])})
model_files = st.builds(
    spoilt_file,
    st.builds(
        with_other_values, st.sampled_from(sorted(MODEL_FILES)), st.dictionaries(st.sampled_from(keys), anything)
    ),
    st.just([]) | edits,
)


def read_model(file: tuple[str, str]) -> None:
    name, text = file
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        if name == SUMS_FILE:
            refusable(lambda: check_sums(folder, read_sums(folder)))
        elif name == CONFIG_FILE:
            refusable(lambda: _read_config(folder / name))
        else:
            refusable(lambda: SegmenterSettings.load(folder))


def read_events(text: str) -> None:
    refusable(lambda: EVENTS.from_json(read_json(text)))


TARGETS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], None]]] = {
    "wire": (wire, read_wire),
    "trace": (traces, read_trace),
    "feeds": (near_feed(), read_feeds),
    "subtitles": (captions, write_subtitles),
    "model": (model_files, read_model),
    "events": (st.builds(spoilt, records.map(lambda some: dumped(some[0] if some else {})), edits), read_events),
}
_outcomes: Counter[str] = Counter()


def refusable(work: Callable[[], object]) -> None:
    """Runs something that may be refused for what was given to it."""
    refusal = ""
    try:
        work()
    except TuriaError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) <= 1, f"not one line: {refusal!r}"
    _outcomes["refused" if refusal else "taken"] += 1


def run(name: str, count: int, seconds: float = 3600) -> str:
    """Tries a target; raises for what it found."""
    strategy, target = TARGETS[name]
    _outcomes.clear()
    tried, until = 0, time.monotonic() + seconds

    def try_one(value: Any) -> None:
        nonlocal tried
        tried += 1
        began = time.process_time()
        target(value)
        assert time.process_time() - began < SLOW, f"{time.process_time() - began:.1f} s"

    while tried < count and time.monotonic() < until:
        # In rounds, each of its own chance: hypothesis itself ends only after a number of examples.
        limited = settings(
            max_examples=min(ROUND, count - tried), database=None, deadline=None,
            phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        seed(tried)(limited(given(strategy)(try_one)))()
    return f"{name}: {tried} inputs, nothing found ({dict(_outcomes)})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", help=f"of {', '.join(TARGETS)}; all of them without any")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=300)
    asked = parser.parse_args()
    if unknown := set(asked.target) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    for chosen in asked.target or TARGETS:
        print(run(chosen, asked.count, asked.seconds), flush=True)
