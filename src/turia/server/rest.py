"""Whole texts over HTTP, in LibreTranslate's shape: `POST /translate`, `GET /languages`, `GET /health` (docs/rest.md).

A text goes through the same sessions as everybody's words: the same keys, the same places, the same worker, so that
requests cannot crowd out captions. There is no hurry: a sentence is read whole before it is translated, sentence ends
come from the punctuation, and a line stays a line. Whoever asks for a session gets its name, and texts that are sent
with it have the earlier ones as history.

An error is {"error": "..."}; it never repeats the text.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from turia.server.access import bearer, matches
from turia.server.hub import Hub, RefusedError
from turia.server.limits import Bucket
from turia.server.live import Follower, Live
from turia.server.messages import MAX_BYTES, MAX_K, MAX_LETTERS, EndOfStream, Pause, ProtocolError
from turia.server.session import Input, Word
from turia.server.store import EVENTS_AT_ONCE, StoreError

LONGEST_TEXT = 2000
"""Words of a request; what takes longer than people wait for an answer is for the socket."""
MOST_FIELDS = 1000
NO_SESSION = 'no such session; begin one with "session": true'
NO_FIELDS = "expected a JSON object, or a form without files"
INPUTS_AT_ONCE = 500
NAMES = {
    "cs": "Czech",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "uk": "Ukrainian",
}
"""A language that is not here goes by its code."""


class RestError(Exception):
    """A request that gets an error for an answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Asked:
    """What a request asks for."""

    texts: tuple[str, ...]
    is_list: bool
    source: str
    target: str
    alternatives: int
    key: str | None
    session: str | bool
    """A session's name to go on with; True to begin one."""


def add_rest(app: FastAPI) -> None:
    @app.post("/translate", summary="Translate texts, as LibreTranslate does", responses={400: {}, 403: {}, 503: {}})
    async def translate(request: Request) -> Response:
        hub: Hub = request.app.state.hub
        try:
            return JSONResponse(await _translate(request, hub))
        except RestError as error:
            return JSONResponse({"error": str(error)}, error.status)
        except ProtocolError as error:
            return JSONResponse({"error": str(error)}, 409 if error.code == "replaced" else 400)
        except StoreError as error:
            hub.metrics.refusals.labels("store").inc()
            return JSONResponse({"error": str(error)}, 503, hub.limits.come_back())
        except RefusedError as error:
            return JSONResponse({"error": str(error)}, 503, hub.limits.come_back())

    @app.get("/languages", summary="What can be translated into what")
    async def languages(request: Request) -> list[dict[str, Any]]:
        pairs = list(_languages(request.app.state.hub).values())
        codes = dict.fromkeys(code for pair in pairs for code in pair)
        targets = {code: [target for source, target in pairs if source == code] for code in codes}
        return [{"code": code, "name": NAMES.get(code, code), "targets": targets[code]} for code in codes]

    @app.get("/health", summary="Whether texts are taken", responses={503: {}})
    async def health(request: Request) -> Response:
        ready = request.app.state.hub.ready
        return JSONResponse({"status": "ok" if ready else "not ready"}, 200 if ready else 503)


async def _translate(request: Request, hub: Hub) -> dict[str, Any]:
    asked = parse_request(await _fields(request))
    owner = request.app.state.access.keys.owner(asked.key or bearer(request.headers.get("authorization")))
    if owner is None:
        hub.metrics.refusals.labels("key").inc()
        raise RestError(403, "an API key is needed: send it as api_key")
    if hub.draining:
        raise RefusedError("not-ready", "the server is starting or stopping")
    model = choose_model(_languages(hub), asked.source, asked.target)
    name = asked.session if isinstance(asked.session, str) else None
    translations = []
    if asked.session:
        if name is None:
            name = ".".join(await hub.create(owner, model, MAX_K, True))
        translations = await _speak(hub, await _find(hub, name, model), asked.texts, ends=False)
    else:
        for text in asked.texts:
            if not text.split():
                # No words, no session: tens of thousands of such texts fit in a request.
                translations.append("\n" * text.count("\n"))
                continue
            session, _ = await hub.create(owner, model, MAX_K, True)
            translations += await _speak(hub, session, [text], ends=True)
    answer: dict[str, Any] = {"translatedText": translations if asked.is_list else translations[0]}
    if asked.alternatives:
        answer["alternatives"] = [[] for _ in translations] if asked.is_list else []
    return answer if name is None else answer | {"session": name}


async def _find(hub: Hub, name: str, model: str) -> str:
    """The session of a name that we gave, which has its secret in it."""
    session, _, secret = name.partition(".")
    live = await hub.find(session) if name.isascii() else None
    if live is None or not matches(secret, live.saved.secret_hash):
        hub.metrics.refusals.labels("secret").inc()
        raise RestError(404, NO_SESSION)
    if json.loads(live.saved.state)["stream"]["model"] != model:
        raise RestError(400, "the session is of another pair of languages")
    return session


async def _speak(hub: Hub, session: str, texts: Sequence[str], ends: bool) -> list[str]:
    """The translations of texts that follow one another in a session."""
    turn = await hub.next_turn(session)
    # Nothing else can run from here until we have joined it: the hub drops sessions that nobody follows.
    live = await hub.find(session)
    if live is None:
        raise RestError(404, NO_SESSION)
    follower = await hub.join(live, "speaker", turn)
    try:
        talk = Talk(hub, live, follower)
        await talk.settle()
        translations = ["\n".join([await talk.line(line) for line in text.split("\n")]) for text in texts]
        if ends:
            await talk.send([EndOfStream(live.received + 1)])
        return translations
    finally:
        hub.leave(live, follower)


class Talk:
    """A request that speaks in a session, line by line."""

    def __init__(self, hub: Hub, live: Live, follower: Follower) -> None:
        self.hub, self.live, self.follower = hub, live, follower
        self._have = 0
        limits = hub.limits
        self._bucket = Bucket(limits.words_a_second, limits.burst, time.monotonic())

    async def settle(self) -> None:
        """An earlier request may have been given up, also within a line: what is left of it is not this one's."""
        if self.live.received and not self.live.ended:
            await self._done(self.live.received)
            await self.send([Pause(self.live.received + 1)])
        self._have = self.live.events

    async def line(self, text: str) -> str:
        """The translation of one line."""
        words = text.split()
        if not words:
            return ""
        first = self.live.received + 1
        inputs: list[Input] = [Word(first + i, word[:MAX_LETTERS]) for i, word in enumerate(words)]
        await self.send([*inputs, Pause(first + len(words))])
        written: list[str] = []
        while self._have < self.live.events:
            begin, events = await self.hub.events_after(self.live, self._have, EVENTS_AT_ONCE)
            written += [event["word"] for event in map(json.loads, events) if event["type"] == "write"]
            self._have = begin + len(events) - 1
        return " ".join(written)

    async def send(self, inputs: Sequence[Input]) -> None:
        """Gives the worker these inputs, no faster than a socket would, and waits until they are done."""
        for begin in range(0, len(inputs), INPUTS_AT_ONCE):
            part = inputs[begin : begin + INPUTS_AT_ONCE]
            self._check()
            self.hub.take(self.live, part)
            await self._done(part[-1].seq)
            await asyncio.sleep(self._bucket.take(len(part), time.monotonic()))

    async def _done(self, seq: int) -> None:
        """Waits until the inputs up to this one are translated and stored."""
        while self.live.inputs < seq:
            self.follower.wake.clear()
            await self.follower.wake.wait()
            self._check()

    def _check(self) -> None:
        """Whether the request still has the word; its session may have moved, or failed."""
        refusal = self.follower.refusal
        if refusal is None:
            return
        if refusal.retry:
            raise RefusedError(refusal.code, refusal.message)
        raise RestError(409 if refusal.code == "replaced" else 500, refusal.message)


# --- requests ---------------------------------------------------------------------------------------------------------


def _languages(hub: Hub) -> dict[str, tuple[str, str]]:
    """Source and target of each model."""
    return {name: translator.model.languages for name, translator in hub.translators.items()}


def choose_model(models: Mapping[str, tuple[str, str]], source: str, target: str) -> str:
    """The model for a pair; `auto` is whatever is translated into the target, if that is one language."""
    fitting = [name for name, pair in models.items() if pair[1] == target and source in (pair[0], "auto")]
    if not fitting:
        raise RestError(400, f"this pair of languages is not here; this server has {', '.join(models)}")
    if len(fitting) > 1:
        raise RestError(400, "languages are not recognised here; say the source's")
    return fitting[0]


def parse_request(fields: dict[str, Any]) -> Asked:
    """What the fields of a request ask for."""
    q = fields.get("q")
    texts = tuple(q) if isinstance(q, list) else (q,)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise RestError(400, "q is missing; expected a text or a list of texts")
    clean = tuple(str(text).encode("utf-8", "replace").decode() for text in texts)
    words = sum(len(text.split()) for text in clean)
    if words > LONGEST_TEXT:
        raise RestError(400, f"{words} words; at most {LONGEST_TEXT} are taken at once, more over the socket")
    if _text(fields, "format", "text") != "text":
        raise RestError(400, "format is not 'text'; markup is not translated here")
    alternatives = str(fields.get("alternatives", "0"))
    if not (alternatives.isascii() and alternatives.isdigit()):
        raise RestError(400, "alternatives is not a whole number")
    session = fields.get("session", False)
    if session in ("true", "false"):
        session = session == "true"
    if not isinstance(session, str | bool):
        raise RestError(400, "session is neither true nor the name of a session")
    return Asked(
        clean,
        isinstance(q, list),
        _text(fields, "source", "auto"),
        _text(fields, "target"),
        int(alternatives[:9]),
        _text(fields, "api_key", "") or None,
        session,
    )


async def _fields(request: Request) -> dict[str, Any]:
    """The fields of a request in JSON, or of a form of either kind."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "multipart/form-data":
            async with request.form(max_files=0, max_fields=MOST_FIELDS, max_part_size=MAX_BYTES) as form:
                return form_fields([(key, value) for key, value in form.multi_items() if isinstance(value, str)])
        text = (await request.body()).decode("utf-8")
        if kind == "application/x-www-form-urlencoded":
            # Not by `form`: that takes bytes which are not escaped for Latin-1, and `curl -d` escapes nothing.
            return form_fields(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        fields = json.loads(text)
    except (HTTPException, ValueError, RecursionError):
        raise RestError(400, NO_FIELDS) from None
    if not isinstance(fields, dict):
        raise RestError(400, NO_FIELDS)
    return fields


def form_fields(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A form as JSON would have it: `q` more than once is a list."""
    texts = [value for key, value in pairs if key == "q"]
    return dict(pairs) | ({"q": texts} if len(texts) > 1 else {})


def _text(fields: dict[str, Any], key: str, default: str | None = None) -> str:
    value = fields.get(key)
    value = default if value is None else value
    if not isinstance(value, str):
        raise RestError(400, f"{key} is missing or not a text")
    return value
