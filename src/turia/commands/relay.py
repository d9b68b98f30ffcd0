"""`turia relay`: watches a session and passes its captions on: to YouTube Live, to Zoom, or as a track for HLS.

It is one more viewer and may come and go without harm to the session. It does not post what was said before it came; a
track for HLS has all of the session, and is the same whenever it is made. In a room the relay goes on with the next
session. An operator's change is passed on if the words that it changes have not been posted yet (`held`).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

from turia.commands.held import HeldEvents
from turia.commands.options import is_address
from turia.commands.posting import Poster, ask
from turia.errors import FormatError, InputError, ResourceError
from turia.formats.caption_posts import YouTubeCaptions, ZoomCaptions
from turia.formats.hls import HlsCaptions, HlsFile
from turia.formats.subtitles import LONGEST_MS, Cue, CueMaker
from turia.protocol.client import Follower
from turia.protocol.events import LATEST_MS, checked_event
from turia.stream.speakers import SPEAKER
from turia.system.files import write_file
from turia.system.signals import StopRequests

Side = Literal["target", "source"]
QUIET_MS = 2000.0
"""Without a word for so long, a cue is complete."""
HOLD_MS = LONGEST_MS + QUIET_MS + 1000.0
"""A cue that began before that is complete, by whatever ends it."""
TICK = 0.5
ROOM_SECONDS = 2.0
"""How often a room is asked what it shows."""


@dataclass(frozen=True)
class Place:
    """A session, or a room, at a server."""

    server: str
    name: str
    is_room: bool = False


def place_of(given: str, server: str) -> Place:
    """The session or room that the user named: by a session's name, or by an address (/watch/NAME, /room/NAME)."""
    if "://" not in given:
        return Place(server, given)
    parts = urlsplit(given if is_address(given) else "")
    *_, kind, name = ["", *(unquote(part) for part in parts.path.strip("/").split("/"))]
    if not parts.netloc or kind not in ("watch", "overlay", "room"):
        raise InputError(f"{given}: expected the name of a session, or the address of its page or its room")
    return Place(f"{parts.scheme}://{parts.netloc}", name, kind == "room")


class Captioner:
    """The events of a session as cues and words. Pure: the times are those of the events."""

    def __init__(self, side: Side, on_cue: Callable[[Cue], None], on_word: Callable[[str, float], None],
                 on_line: Callable[[float], None]) -> None:  # fmt: skip
        self.language = ""
        """Of the side that is passed on."""
        self.side = side
        self._on_cue, self._on_word, self._on_line = on_cue, on_word, on_line
        self._cues = CueMaker()
        self._last: float | None = None
        """When the last word of the open cue came."""
        self._name = ""

    def take(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "settings":
                self._close()
                models = str(event.get("model", "")).split("-")
                code = event.get(self.side) or models[0 if self.side == "source" else -1]
                self.language = str(code).partition("-")[0]
            case "write" if self.side == "target":
                self._word(event)
            case "source" if self.side == "source":
                self._word(event)
            case "sentence" if self.side == "target":
                # A sentence of the source is found to have ended when words after it have come.
                self._close()
            case "note" if event.get("kind") == SPEAKER:
                self._close()
                self._name = str(event.get("detail", ""))
            case "insertion" if self.side == "target":
                self._put_in(str(event["text"]), float(event["ms"]))
            case "end":
                self._close()

    def quiet(self, ms: float) -> None:
        """Called when the session's clock shows this time and all events up to then have come."""
        if self._last is not None and ms - self._last > QUIET_MS:
            self._close()

    def _word(self, event: dict[str, Any]) -> None:
        ms = float(event["ms"])
        self.quiet(ms)
        words = [event["word"]]
        if self._name:
            words = [*f"{self._name}:".split(), *words]
            self._name = ""
        for word in words:
            for cue in self._cues.push(word, ms):
                self._on_cue(cue)
            self._on_word(word, ms)
        self._last = ms

    def _put_in(self, text: str, ms: float) -> None:
        """Passes on a line that an operator put in, which nobody has said."""
        self._close()
        name, self._name = self._name, ""
        for word in text.split():
            self._word({"word": word, "ms": ms})
        self._close()
        self._name = name

    def _close(self) -> None:
        for cue in self._cues.end_sentence():
            self._on_cue(cue)
        if self._last is not None:
            self._on_line(self._last)
        self._last = None


@dataclass
class HlsTrack:
    """A folder for a playlist and its segments."""

    folder: Path
    mpegts: int
    captions: HlsCaptions | None = None
    began: float = 0.0
    """The Unix time at which the session's clock showed 0."""

    def begin(self, began: float) -> None:
        self.began = began
        self.captions = self.captions or HlsCaptions(began, self.mpegts)

    def write(self, files: list[HlsFile]) -> None:
        try:
            for file in files:
                write_file(self.folder / file.name, file.content)
        except OSError as error:
            raise ResourceError(f"{self.folder}: cannot be written: {error.strerror}") from error


class CaptionRelay:
    """Passes one session on to its outlets: YouTube, Zoom, a track for HLS."""

    def __init__(self, side: Side, youtube: tuple[Poster, YouTubeCaptions] | None = None,
                 zoom: tuple[Poster, ZoomCaptions] | None = None, hls: HlsTrack | None = None,
                 clock: Callable[[], float] = time.time, hold: float = 0.0) -> None:  # fmt: skip
        """`hold` is how many seconds each word waits for a correction."""
        self.captioner = Captioner(side, self._cue, self._word, self._line)
        self._held = HeldEvents(1000 * hold, self.captioner.take)
        self._youtube, self._zoom, self._hls, self._clock = youtube, zoom, hls, clock
        self._began: float | None = None
        """The Unix time at which the session's clock showed 0."""
        self._joined_ms = 0.0
        self._events: list[dict[str, Any]] = []
        """For a track for HLS: all that was not spoken, to make it again as the operator has left it."""
        self._changed = False

    @property
    def posters(self) -> list[Poster]:
        return [pair[0] for pair in (self._youtube, self._zoom) if pair is not None]

    def connected(self, began: float, ms: float) -> None:
        """The clock of the session is known, and what it showed then. Reconnections do not change it."""
        if not 0 <= ms <= LATEST_MS:
            raise FormatError(f"the server says that the session's clock shows {ms!r:.30}, expected milliseconds")
        if self._began is None:
            self._began, self._joined_ms = began, ms
            if self._hls is not None:
                self._hls.begin(began)

    def take(self, event: dict[str, Any]) -> None:
        late = self._held.late
        self._held.take(event)
        if self._held.late > late and self.posters and float(event["ms"]) > self._joined_ms:
            print("a line was changed that had been posted; --hold waits for changes", file=sys.stderr, flush=True)
        for poster in self.posters:
            poster.language = self.captioner.language or poster.language
        self._changed = self._changed or event.get("type") in ("correction", "insertion")
        if self._hls is not None and self._hls.captions is not None:
            if event.get("type") != "source":
                self._events.append(event)
            ms = float(event.get("ms") or 0.0)
            if event.get("type") == "end":
                self._finish_track(self._hls, self._hls.captions, ms)
            else:
                self._hls.write(self._hls.captions.until((ms - self._held.hold_ms - HOLD_MS) / 1000))

    def _finish_track(self, hls: HlsTrack, track: HlsCaptions, ms: float) -> None:
        """The rest of the segments; if an operator changed the text, all of them again, for those who watch later."""
        if self._changed and self.captioner.side == "target":
            track = HlsCaptions(hls.began, hls.mpegts)
            again = Captioner("target", track.push, lambda word, at: None, lambda at: None)
            held = HeldEvents(float("inf"), again.take)
            for event in self._events:
                held.take(event)
        hls.write(track.finish(ms / 1000))

    def tick(self) -> None:
        """Nothing has come for a while, though something could have."""
        if self._began is None:
            return
        ms = 1000 * (self._clock() - self._began)
        self._held.release(ms)
        self.captioner.quiet(ms - self._held.hold_ms)
        if self._hls is not None and self._hls.captions is not None:
            self._hls.write(self._hls.captions.until((ms - self._held.hold_ms - HOLD_MS) / 1000))

    def _cue(self, cue: Cue) -> None:
        if self._hls is not None and self._hls.captions is not None:
            self._hls.captions.push(cue)
        if self._youtube is not None and cue.start >= self._joined_ms:
            poster, captions = self._youtube
            captions.push(cue, self._unix(cue.start))
            poster.wake()

    def _word(self, word: str, ms: float) -> None:
        if self._zoom is not None and ms >= self._joined_ms:
            self._zoom[1].word(word, self._unix(ms))
            self._zoom[0].wake()

    def _line(self, ms: float) -> None:
        if self._zoom is not None and ms >= self._joined_ms:
            self._zoom[1].end_line(self._unix(ms))
            self._zoom[0].wake()

    def _unix(self, ms: float) -> float:
        assert self._began is not None
        return self._began + ms / 1000


async def follow(follower: Follower, relay: CaptionRelay) -> None:
    """Passes all events of the session on, up to its end."""
    async with follower:
        async for event in _with_ticks(follower.events()):
            if follower.began is not None:
                relay.connected(follower.began, follower.welcomed_ms)
            if event is not None:
                relay.take(checked_event(event))
            elif follower.connected:
                relay.tick()


async def follow_room(place: Place, language: str | None, begin: Callable[[], CaptionRelay]) -> None:
    """Passes on whatever session the room shows, one after another, until the room is deleted."""
    shown, following = None, None
    try:
        while (info := await asyncio.to_thread(_room, place)) is not None:
            session = _session_in(info, language)
            if info and session != shown:
                await _stopped(following)
                shown, following = session, None
                if session is not None:
                    following = asyncio.create_task(follow(Follower(place.server, session), begin()))
            await asyncio.sleep(ROOM_SECONDS)
            if following is not None and following.done():
                # A session that is over stays in the room until the next one; one that failed is an error.
                following.result()
    finally:
        await _stopped(following)


async def _stopped(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _room(place: Place) -> dict[str, Any] | None:
    """What the server says of the room: None if there is no such room, an empty answer while the server is away."""
    answer = ask(f"{place.server}/api/rooms/{quote(place.name)}")
    if answer.status == 404:
        return None
    with suppress(ValueError):
        found = json.loads(answer.text) if answer.status == 200 else {}
        return found if isinstance(found, dict) else {}
    return {}


def _session_in(info: dict[str, Any], language: str | None) -> str | None:
    """The session to follow: that of the language, if one was asked for, else the room's own."""
    if language is None:
        found = info.get("session")
    else:
        offered = info.get("languages")
        items = [item for item in offered if isinstance(item, dict)] if isinstance(offered, list) else []
        found = next((item.get("session") for item in items if item.get("language") == language), None)
    return found if isinstance(found, str) else None


async def _with_ticks(events: AsyncIterator[dict[str, Any]]) -> AsyncIterator[dict[str, Any] | None]:
    """Events as they come, and None when there was none for a while."""
    while True:
        coming = asyncio.ensure_future(anext(events, None))
        try:
            while not (await asyncio.wait([coming], timeout=TICK))[0]:
                yield None
        except BaseException:
            coming.cancel()
            raise
        event = coming.result()
        if event is None:
            return
        yield event


async def run(
    place: Place, posters: Sequence[Poster], begin: Callable[[], CaptionRelay], language: str | None = None
) -> int:
    """The command; gives the signal that ended it, or 0. `begin` makes the relay of a session."""
    loop = asyncio.get_running_loop()

    async def pass_on() -> None:
        posting = [asyncio.create_task(poster.run()) for poster in posters]
        try:
            if place.is_room:
                if await asyncio.to_thread(_room, place) is None:
                    raise InputError(f"{place.server}: there is no room {place.name}")
                await follow_room(place, language, begin)
            else:
                await follow(Follower(place.server, place.name), begin())
            for poster in posters:
                poster.finish()
            await asyncio.gather(*posting)
        finally:
            for task in posting:
                task.cancel()
            await asyncio.gather(*posting, return_exceptions=True)

    following = asyncio.create_task(pass_on())
    stop = StopRequests(lambda: loop.call_soon_threadsafe(following.cancel))
    with stop.noted():
        try:
            with suppress(asyncio.CancelledError):
                await following
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    for poster in posters:
        print(f"{poster.service}: {poster.posted} posts", file=sys.stderr, flush=True)
    return stop.number
