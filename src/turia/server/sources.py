"""What sessions of one speaker share: the encoder's states, if they differ in nothing but their latency.

A session belongs to its speaker by its name (turia.server.fanout). Streams hold on to what they share; when the last of
them is gone, so is it. Sessions are begun on the event loop, and change their model in the worker's thread: hence a
lock.
"""

from __future__ import annotations

import threading
from weakref import WeakValueDictionary

from turia.engine.shared import SharedSource
from turia.engine.stream import Stream


class SharedSources:
    """Of all speakers of a server."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[str, str], SharedSource] = WeakValueDictionary()
        self._lock = threading.Lock()

    def give(self, session_id: str, stream: Stream) -> None:
        """Lets the stream of a session share, if its settings say that it can."""
        if stream.settings.first_block is None:
            return
        key = (session_id.partition(".")[0], stream.model.name)
        with self._lock:
            source = self._known.get(key) or SharedSource()
            self._known[key] = source
        stream.share(source)

    def __len__(self) -> int:
        return len(self._known)
