"""Inputs chosen by the code that they reach: python -m benchmarks.fuzz_guided TARGET [COUNT] [CORPUS]

libFuzzer (atheris, which you install yourself: `pip install atheris`) begins with valid inputs, changes their bytes and
puts in words of a list, and changes further what reaches new code. COUNT is how many inputs are tried (1,000,000).
CORPUS is a folder in which those that reach new code are kept from run to run. A finding ends it with a traceback and
the bytes in a file crash-...; without one it ends with "Done COUNT runs".

The rules for findings are those of benchmarks/fuzz.py. Hypothesis makes the inputs there: better formed ones, and a
hundred times slower. Here the bytes go to the readers as they are, a target for each:

    wire       messages of clients and servers, sound among them
    trace      traces
    feeds      what recognisers print; the first byte says which
    subtitles  words and times, written as SRT or WebVTT; the first byte says which
    model      files of model folders, ours and those of the Hugging Face hub; the first byte says which
    events     stored events
    glossary   tables of terms
    operator   what operators ask for
    recording  recorded sessions, as `turia replay` reads them
    relay      events of a server, as `turia relay` passes them on to YouTube, to Zoom and to a track of HLS
"""

from __future__ import annotations

import io
import json
import struct
import sys
import tempfile
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import atheris

with atheris.instrument_imports(include=["turia"]):
    from benchmarks.fuzz import MODEL_FILES, RECORDS, SLOW, dumped, refusable, write_captions
    from turia.commands.posting import Poster
    from turia.commands.relay import CaptionRelay, HlsTrack
    from turia.export.plain_weights import INDEX, PICKLE, SAFETENSORS, open_weights
    from turia.formats.asr_feeds import InputFormat, heard
    from turia.formats.caption_posts import YouTubeCaptions, ZoomCaptions
    from turia.formats.hls import HlsFile
    from turia.formats.replay import moments
    from turia.protocol.client_messages import parse_client
    from turia.protocol.corrections import parse_operator
    from turia.protocol.events import EVENTS, checked_event
    from turia.protocol.server_messages import parse_server
    from turia.protocol.sound import HEADER, SOUND, is_sound, parse_sound
    from turia.runtime.folder import CONFIG_FILE, SUMS_FILE, _read_config, check_sums, read_sums
    from turia.schema import read_json
    from turia.segmenter.classifier import SETTINGS_FILE, VOCABULARY_FILE, SegmenterSettings
    from turia.stream.trace import parse_trace
    from turia.text.glossary import decode_glossary, parse_glossary
    from turia.text.vocabulary import Vocabulary

FEEDS: tuple[InputFormat, ...] = get_args(InputFormat)
SILENCE = "\x01"
"""The line that stands for a silence."""
LONGEST = {"subtitles": 200, "feeds": 600, "model": 1400, "relay": 1600, "recording": 1600, "operator": 300}
"""Bytes of an input; 4,096 for the others. What is longer reaches no other code, and takes its time."""


def text_of(data: bytes) -> str:
    """Half characters are kept: JSON can have them."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


# --- targets ----------------------------------------------------------------------------------------------------------


def read_wire(data: bytes) -> None:
    if is_sound(data):
        refusable(lambda: parse_sound(data))
    refusable(lambda: parse_client(data))
    refusable(lambda: parse_server(text_of(data)))


MESSAGES: tuple[dict[str, Any], ...] = (
    {"type": "hello", "protocol": 1, "ticket": "t", "have": 3, "tentative": True, "presence": True},
    {"type": "words", "seq": 1, "words": ["ka", "le."], "times": [1, 2.5]},
    {"type": "partial", "after": 3, "words": ["ka"]},
    {"type": "listen", "from": 0, "language": "en", "settled": ["a"]},
    {"type": "hush"},
    {"type": "pause", "seq": 2, "speaker": "Anna"},
    {"type": "settings", "seq": 1, "policy": "hold-n:n=3", "model": "m", "target_lag": "3s", "punctuation": True},
    {"type": "settings", "seq": 1, "k": 3, "glossary": "term\ttranslation\tcase\toptional\nka*\tKa\texact\tyes\n"},
    {"type": "end", "seq": 9},
    {"type": "ping"},
    {"type": "hello", "protocol": 1, "session": "s", "role": "viewer", "last_input": 0, "last_event": 1, "ms": 0.5,
     "limits": {"bytes": 1}},
    {"type": "ack", "seq": 1},
    {"type": "events", "seq": 1, "events": [{"type": "source", "word": "ka", "index": 0, "ms": 1.0}]},
    {"type": "tentative", "after": 1, "source": ["a"], "target": ["b"]},
    {"type": "heard", "taken": 1, "keep": 0, "settled": 1, "words": ["a"], "times": [0.5], "partial": []},
    {"type": "error", "code": "store", "message": "m", "retry": True},
)  # fmt: skip


def read_trace(data: bytes) -> None:
    refusable(lambda: parse_trace(text_of(data).split("\n")))


def read_feed(data: bytes) -> None:
    kind = FEEDS[(data[0] if data else 0) % len(FEEDS)]
    lines = [None if line == SILENCE else line for line in text_of(data[1:]).split("\n")]
    refusable(lambda: list(heard(kind, lines)))


FEED_TEXTS = {
    "words": "ka le\n\x01\nmi",
    "whisper": "0 1720 ka le\n4186.3606 1720 2000 mi",
    "jsonl": '{"start": 0.1, "end": 1.7, "text": "ka le", "is_final": true, "speaker": "A"}\n{"text": "mi"}',
    "vosk": '{"partial": "ka"}\n{"result": [{"word": "ka", "start": 0.1, "end": 0.2}],\n"text": "ka"}\n'
    '{"alternatives": [{"text": "le"}]}',
    "deepgram": '{"is_final": true, "start": 0, "duration": 1, "channel": {"alternatives": [{"transcript": "ka", '
    '"words": [{"word": "ka", "start": 0.1, "end": 0.2, "punctuated_word": "Ka."}]}]}}',
    "whisperlivekit": '{"type": "config"}\n{"lines": [{"speaker": 1, "text": "ka le", "start": "0:00:01", "end": '
    '"0:00:02"}], "buffer_transcription": "mi"}\n{"type": "ready_to_stop"}',
    "srt": "1\n00:00:01,000 --> 00:00:02,500\n<i>ka le</i>\n\n2\n00:00:03,000 --> 00:00:04,000\nmi\n",
    "vtt": "WEBVTT\n\n00:01.000 --> 00:02.500 line:0\n<v Anna>ka <00:01.500>le</v>\n\nNOTE\n\n0:03.000 --> 0:04.000\nx",
}


def write_subtitles(data: bytes) -> None:
    """A line is a word behind four bytes: its time, and whether it ends the sentence or is a speaker's name."""
    said = []
    for line in data[1:].split(b"\n"):
        word = text_of(line[4:])
        if word:
            said.append((word, float(int.from_bytes(line[:3], "big") << (line[3] & 15)), line[3] >> 4))
    write_captions("vtt" if data[:1] < b"\x80" else "srt", said)


# --- files of models --------------------------------------------------------------------------------------------------

SCRATCH = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


def _read_weights(name: str) -> Callable[[], object]:
    """Opens a checkpoint and reads its tensors, as far as they are there."""

    def read() -> None:
        for tensor in open_weights(SCRATCH / name).values():
            refusable(tensor.read)

    return read


READERS: tuple[tuple[str, str, Callable[[], object]], ...] = (
    ("ours", CONFIG_FILE, lambda: _read_config(SCRATCH / "ours" / CONFIG_FILE)),
    ("ours", SETTINGS_FILE, lambda: SegmenterSettings.load(SCRATCH / "ours")),
    ("ours", SUMS_FILE, lambda: check_sums(SCRATCH / "ours", read_sums(SCRATCH / "ours"))),
    ("ours", VOCABULARY_FILE, lambda: Vocabulary.load(SCRATCH / "ours" / VOCABULARY_FILE)),
    ("safe", SAFETENSORS, _read_weights("safe")),
    ("index", INDEX, _read_weights("index")),
    ("pickle", PICKLE, _read_weights("pickle")),
)
for _place in {reader[0] for reader in READERS}:
    (SCRATCH / _place).mkdir(exist_ok=True)


def read_model(data: bytes) -> None:
    place, name, read = READERS[data[0] % len(READERS)] if data else READERS[0]
    (SCRATCH / place / name).write_bytes(data[1:])
    refusable(read)


def _safetensors() -> bytes:
    header = {"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
              "b": {"dtype": "BF16", "shape": [], "data_offsets": [8, 10]}}  # fmt: skip
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(10)


def _torch_pickle() -> bytes:
    """What torch writes for one tensor of two by one numbers, opcode by opcode: no torch is needed."""
    storage = b"((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x02tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n" + storage + b"K\0K\x02K\x01\x86K\x01K\x01\x86\x89c"
    return b"\x80\x02}X\x01\0\0\0a" + tensor + b"collections\nOrderedDict\n)RtRs."


def _torch_archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x/data.pkl", _torch_pickle())
        archive.writestr("x/data/0", bytes(8))
    return file.getvalue()


def _torch_legacy() -> bytes:
    magic = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
    return magic + b"\x80\x02M\xe9\x03." + b"\x80\x02}." + _torch_pickle() + b"\x80\x02]X\x01\0\0\x000a." + (
        struct.pack("<q", 2) + bytes(8)
    )  # fmt: skip


def model_files() -> list[bytes]:
    index = {"weight_map": {"a": "model-1.safetensors", "b": "../model-2.safetensors"}}
    files = [MODEL_FILES[CONFIG_FILE], MODEL_FILES[SETTINGS_FILE], MODEL_FILES[SUMS_FILE]]
    seeds = [bytes([number]) + text.encode() for number, text in enumerate(files)]
    seeds += [
        b"\x03~boundary\n~unheard\n~unknown\nka\n",
        b"\x04" + _safetensors(),
        b"\x05" + json.dumps(index).encode(),
    ]
    return [*seeds, b"\x06" + _torch_archive(), b"\x06" + _torch_legacy()]


def read_glossary(data: bytes) -> None:
    refusable(lambda: parse_glossary(decode_glossary(data, "terms.tsv"), "terms.tsv"))


def read_event(data: bytes) -> None:
    refusable(lambda: EVENTS.from_json(read_json(data)))


def read_operator(data: bytes) -> None:
    refusable(lambda: parse_operator(data))


OPERATOR: tuple[dict[str, Any], ...] = (
    {"type": "correct", "sentence": 0, "words": 2, "text": "a b"},
    {"type": "insert", "before": 1, "text": "a", "number": 0},
    {"type": "mute", "on": True},
    {"type": "settings", "k": 3, "glossary": "ka\tKa\n"},
    {"type": "pause", "speaker": "Anna"},
    {"type": "end"},
)


def read_recording(data: bytes) -> None:
    refusable(lambda: moments(text_of(data).split("\n")))


class Unwritten(HlsTrack):
    """A track whose files go nowhere."""

    def write(self, files: list[HlsFile]) -> None:
        pass


def pass_on(data: bytes) -> None:
    """Lines of events. A time of more than an hour would only make many files."""
    youtube, zoom = YouTubeCaptions(), ZoomCaptions()
    outlets = (Poster("youtube", "http://a/", youtube), youtube), (Poster("zoom", "http://a/", zoom), zoom)
    relay = CaptionRelay("source" if data[:1] < b"\x40" else "target", *outlets, Unwritten(Path("none"), 0), hold=1.0)
    relay.connected(1e9, 0.0)

    def take() -> None:
        for line in text_of(data[1:]).split("\n"):
            event = checked_event(read_json(line))
            if (event.get("ms") or 0) < 3_600_000:
                relay.take(event)

    refusable(take)
    youtube.take(1e9)
    zoom.take(1e9)


SESSION = [
    {"type": "settings", "model": "de-en", "source": "de", "target": "en", "k": 4, "gamma": 1.0, "beam": 1, "ms": 0.0,
     "window": 2, "history": 0, "punctuation": False},
    {"type": "source", "word": "ka", "index": 0, "ms": 100.0},
    {"type": "write", "word": "Ka", "index": 0, "read": 1, "sentence": 0, "reason": "policy", "ms": 200.0},
    {"type": "insertion", "number": 0, "before": 0, "text": "a line", "ms": 250.0},
    {"type": "correction", "sentence": 0, "words": 1, "text": "Ko lo", "ms": 300.0},
    {"type": "sentence", "sentence": 0, "source_words": 1, "target_words": 1, "reason": "end", "ms": 2000.0},
    {"type": "note", "kind": "speaker", "sentence": 1, "detail": "Anna"},
    {"type": "end", "source_words": 1, "target_words": 1, "ms": 9000.0},
]  # fmt: skip
SESSION_LINES = "\n".join(map(dumped, SESSION)).encode()

Target = tuple[Callable[[bytes], None], list[bytes]]
TARGETS: dict[str, Target] = {
    "wire": (read_wire, [*(dumped(message).encode() for message in MESSAGES), HEADER.pack(SOUND, 0) + bytes(4)]),
    "trace": (read_trace, ["\n".join(map(dumped, RECORDS[:many])).encode() for many in range(1, len(RECORDS) + 1)]),
    "feeds": (read_feed, [bytes([FEEDS.index(kind)]) + text.encode() for kind, text in FEED_TEXTS.items()]),
    "subtitles": (write_subtitles, [
        first + b"\0\0\1\0ka\n\0\1\0\x10le.\n\0\1\2\x20Anna\n\0\xff\xff\x0f" + word
        for first in (b"\0", b"\xff") for word in (b"mi", b"-->", b"<b>x", b"&amp;", "\u202e".encode(), b"x" * 200)
    ]),
    "model": (read_model, model_files()),
    "events": (read_event, [dumped(record).encode() for record in RECORDS]),
    "operator": (read_operator, [dumped(message).encode() for message in OPERATOR]),
    "recording": (read_recording, [b'{"type":"recording","version":1}\n' + SESSION_LINES]),
    "relay": (pass_on, [side + SESSION_LINES for side in (b"\0", b"\xff")]),
    "glossary": (read_glossary, [b"term\ttranslation\tcase\toptional\nka*\tKa\texact\tyes\n", b"ka,le\nmi;x\n"]),
}  # fmt: skip
LISTED = (
    "true", "false", "null", "NaN", "Infinity", "1e999", "-0", "\\ud800", "\\u0000", "[[[[", '{"a":', "-->", "<v ",
    "\n\n", "..", "\t", "\ufeff", "\u2028", "1e400", "9007199254740992", "F32", "dtype", "shape",
)  # fmt: skip


def _dictionary(seeds: list[bytes]) -> str:
    """The keys of all JSON among the seeds, and odd values, as libFuzzer reads them."""
    entries = OrderedDict.fromkeys(text.encode("utf-8") for text in LISTED)
    for seed in seeds:
        for piece in seed.split(b'"')[1::2]:
            if 0 < len(piece) <= 30:
                entries[b'"' + piece + b'"'] = None
    return "".join('"' + "".join(f"\\x{byte:02X}" for byte in entry) + '"\n' for entry in entries)


def main(name: str, count: int, corpus: list[str]) -> None:
    target, seeds = TARGETS[name]

    def try_one(data: bytes) -> None:
        began = time.process_time()
        target(data)
        # Instrumented code is slower.
        assert time.process_time() - began < 5 * SLOW, f"{time.process_time() - began:.1f} s"

    made = SCRATCH / "seeds"
    made.mkdir()
    for number, seed in enumerate(seeds):
        (made / str(number)).write_bytes(seed)
    (SCRATCH / "words").write_text(_dictionary(seeds))
    options = [f"-runs={count}", f"-max_len={LONGEST.get(name, 4096)}", "-len_control=0", f"-dict={SCRATCH / 'words'}"]
    # The first folder is the one in which libFuzzer keeps what it found.
    atheris.Setup([sys.argv[0], *options, *(corpus or []), str(made)], try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"expected a target of {', '.join(TARGETS)}; see python -m pydoc benchmarks.fuzz_guided")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000, sys.argv[3:])
