"""Turia translates speech while it is being spoken: source words in, translated words out.

    from turia import Translator

    stream = Translator.load("de-en").stream(k=4)
    for word in words:
        for event in stream.push(word):
            print(event.text, end=" ", flush=True)
    for event in stream.flush():
        print(event.text, end=" ")

The names below are the public API. They are looked up when first used, so that `import turia` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turia.engine.settings import Settings
    from turia.engine.stream import Stream
    from turia.runtime.translator import Translator
    from turia.stream.trace import End, Note, Record, SentenceEnd, Write

__version__ = "0.2.0"
__all__ = ["End", "Note", "Record", "SentenceEnd", "Settings", "Stream", "Translator", "Write", "__version__"]

_HOMES = {
    "Translator": "turia.runtime.translator",
    "Stream": "turia.engine.stream",
    "Settings": "turia.engine.settings",
    "Write": "turia.stream.trace",
    "SentenceEnd": "turia.stream.trace",
    "Note": "turia.stream.trace",
    "End": "turia.stream.trace",
    "Record": "turia.stream.trace",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'turia' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
