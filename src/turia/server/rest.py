"""Whole texts over HTTP, in LibreTranslate's shape: `POST /translate`, `GET /languages`, `GET /health` (docs/rest.md).

A text goes through the same sessions as everybody's words: the same keys, the same places, the same worker, so that
requests cannot crowd out captions. There is no hurry: a sentence is read whole before it is translated, sentence ends
come from the punctuation, and a line stays a line. A request may ask for a session: it gets the session's name, and
texts that are sent with the name have the earlier ones as history.

An error has its message under "error", beside what `answers` says; it never repeats the text.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from python_multipart.multipart import parse_options_header
from starlette.exceptions import HTTPException

from turia.errors import ConfigError, FormatError
from turia.policy.waitk import WaitK
from turia.protocol.client_messages import EndOfStream, Pause
from turia.protocol.values import MAX_BYTES, MAX_K, MAX_LETTERS, ProtocolError
from turia.schema import MismatchError, Natural, Rule, from_dict, read_json
from turia.server.access import bearer, matches
from turia.server.admission import RefusedError
from turia.server.answers import error_answer, readiness
from turia.server.captions import NumberedInput, Word
from turia.server.choices import StreamChoice
from turia.server.keyring import note_use
from turia.server.limits import Bucket
from turia.server.session import ActiveSession, EventReader
from turia.server.sessions import SessionManager
from turia.server.stores.base import EVENTS_AT_ONCE, DamagedError, StoreError

# It logs letters of forms that it cannot read, a line for each.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)

LONGEST_TEXT = 2000
"""Words of a request; what takes longer than people wait for an answer is for the socket."""
MOST_FIELDS = 1000
NO_SESSION = 'no such session; begin one with "session": true'
NO_FIELDS = "expected a JSON object, or a form without files"
CHARSETS = (b"utf-8", b"utf8", b"us-ascii", b"iso-8859-1")
"""Of forms."""
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
Texts = Annotated[tuple[str, ...], Rule(bool, "a list of strings")]
PlainText = Annotated[str, Rule(lambda value: value == "text", "'text': markup is not translated here")]


class RestError(Exception):
    """A request that gets an error for an answer."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True)
class TranslateRequest:
    """The fields of a request."""

    q: str | Texts
    """A text, or several."""
    target: str
    source: str = "auto"
    format: PlainText = "text"
    alternatives: Natural = 0
    api_key: str = ""
    session: bool | str = False
    """A session's name to go on with; true to begin one."""

    def __post_init__(self) -> None:
        words = sum(len(text.split()) for text in self.texts)
        if words > LONGEST_TEXT:
            raise ConfigError(f"q has {words} words, expected at most {LONGEST_TEXT}; send more over the socket")

    @property
    def texts(self) -> tuple[str, ...]:
        """Without half characters (lone surrogates), which JSON may have and no store takes."""
        given = (self.q,) if isinstance(self.q, str) else self.q
        return tuple(text.encode("utf-8", "replace").decode() for text in given)


def add_rest(app: FastAPI) -> None:
    @app.post("/translate", summary="Translate texts, as LibreTranslate does", responses={400: {}, 403: {}, 503: {}})
    async def translate(request: Request) -> Response:
        manager: SessionManager = request.app.state.manager
        try:
            return JSONResponse(await _translate(request, manager))
        except RestError as error:
            return error_answer(error.status, str(error), error.code)
        except ProtocolError as error:
            return error_answer(409 if error.code == "replaced" else 400, str(error), error.code)
        except DamagedError as error:
            manager.metrics.refused("damaged")
            return error_answer(500, str(error), "damaged")
        except StoreError as error:
            manager.metrics.refused("store")
            return error_answer(503, str(error), "store", manager.limits.retry_header())
        except RefusedError as error:
            return error_answer(503, str(error), error.code, manager.limits.retry_header())

    @app.get("/languages", summary="What can be translated into what")
    async def languages(request: Request) -> list[dict[str, Any]]:
        pairs = list(_languages(request.app.state.manager).values())
        codes = dict.fromkeys(code for pair in pairs for code in pair)
        targets = {code: [target for source, target in pairs if source == code] for code in codes}
        return [{"code": code, "name": NAMES.get(code, code), "targets": targets[code]} for code in codes]

    @app.get("/health", summary="Whether texts are taken", responses={503: {}})
    async def health(request: Request) -> Response:
        return readiness(request.app.state.manager.takes_streams, "ok")


async def _translate(request: Request, manager: SessionManager) -> dict[str, Any]:
    asked = parse_request(await _fields(request))
    owner = request.app.state.access.keys.owner(asked.api_key or bearer(request.headers.get("authorization")))
    if owner is None:
        manager.metrics.refused("key")
        raise RestError(403, "an API key is needed: send it as api_key", "key")
    note_use(owner, "POST /translate")
    if manager.draining:
        raise RefusedError("not-ready", "the server is starting or stopping")
    # No hurry: with the largest k, sentences are read to their end.
    choice = StreamChoice(choose_model(_languages(manager), asked.source, asked.target), WaitK(MAX_K), punctuation=True)
    name = asked.session if isinstance(asked.session, str) and asked.session else None
    translations = []
    if asked.session:
        if name is None:
            name = ".".join(await manager.create(owner, choice))
        translations = await _speak(manager, await _find(manager, name, choice.model), asked.texts, ends=False)
    else:
        for text in asked.texts:
            if not text.split():
                # No words, no session: tens of thousands of such texts fit in a request.
                translations.append("\n" * text.count("\n"))
                continue
            session_id, _ = await manager.create(owner, choice)
            translations += await _speak(manager, session_id, [text], ends=True)
    is_list = not isinstance(asked.q, str)
    answer: dict[str, Any] = {"translatedText": translations if is_list else translations[0]}
    if asked.alternatives:
        answer["alternatives"] = [[] for _ in translations] if is_list else []
    return answer if name is None else answer | {"session": name}


async def _find(manager: SessionManager, name: str, model: str) -> str:
    """The id of the session of a name that we gave, which has the session's secret in it."""
    session_id, _, secret = name.partition(".")
    session = await manager.find(session_id) if name.isascii() else None
    if session is None or not matches(secret, session.secret_hash):
        manager.metrics.refused("secret")
        raise RestError(404, NO_SESSION)
    if session.model != model:
        raise RestError(400, "the session is of another pair of languages")
    return session_id


async def _speak(manager: SessionManager, session_id: str, texts: Sequence[str], ends: bool) -> list[str]:
    """The translations of texts that follow one another in a session."""
    turn = await manager.next_turn(session_id)
    # Nothing else can run from here until we have joined it: the manager drops sessions that nobody follows.
    session = await manager.find(session_id)
    if session is None:
        raise RestError(404, NO_SESSION)
    reader = await manager.join(session, "speaker", turn)
    try:
        speaker = RestSpeaker(manager, session, reader)
        await speaker.settle()
        translations = ["\n".join([await speaker.line(line) for line in text.split("\n")]) for text in texts]
        if ends:
            await speaker.send([EndOfStream(session.received + 1)])
        return translations
    finally:
        manager.leave(session, reader)


class RestSpeaker:
    """A request that speaks in a session, line by line."""

    def __init__(self, manager: SessionManager, session: ActiveSession, reader: EventReader) -> None:
        self.manager, self.session, self.reader = manager, session, reader
        self._have = 0
        """Number of the last event that was read."""
        limits = manager.limits
        self._bucket = Bucket(limits.words_per_second, limits.burst, time.monotonic())

    async def settle(self) -> None:
        """An earlier request may have been given up, also within a line: what is left of it is not this one's."""
        if self.session.received and not self.session.progress.ended:
            await self._done(self.session.received)
            await self.send([Pause(self.session.received + 1)])
        self._have = self.session.progress.events

    async def line(self, text: str) -> str:
        """The translation of one line."""
        words = text.split()
        if not words:
            return ""
        first = self.session.received + 1
        inputs: list[NumberedInput] = [Word(first + i, word[:MAX_LETTERS]) for i, word in enumerate(words)]
        await self.send([*inputs, Pause(first + len(words))])
        written: list[str] = []
        while self._have < self.session.progress.events:
            begin, events = await self.manager.events_after(self.session, self._have, EVENTS_AT_ONCE)
            written += [event["word"] for event in events if event["type"] == "write"]
            self._have = begin + len(events) - 1
        return " ".join(written)

    async def send(self, inputs: Sequence[NumberedInput]) -> None:
        """Gives the worker these inputs, no faster than a socket would, and waits until they are done."""
        for begin in range(0, len(inputs), INPUTS_AT_ONCE):
            part = inputs[begin : begin + INPUTS_AT_ONCE]
            self._check()
            self.manager.take(self.session, part)
            await self._done(part[-1].seq)
            rest = self._bucket.take(len(part), time.monotonic())
            await self._rest(max(rest, self.manager.occupancy.seconds_to_wait(self.session, len(part))))

    async def _rest(self, seconds: float) -> None:
        """Waits, unless the server stops."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.manager.stopping.wait(), seconds)

    async def _done(self, seq: int) -> None:
        """Waits until the inputs up to this one are translated and stored."""
        while self.session.progress.inputs < seq:
            self.reader.wake.clear()
            await self.reader.wake.wait()
            self._check()

    def _check(self) -> None:
        """Whether the request still has the word; its session may have moved, or failed."""
        refusal = self.reader.refusal
        if self.manager.draining:
            # What a request takes may be longer than a stop; its client is to send it to another server.
            raise RefusedError("not-ready", "the server is stopping")
        if refusal is None:
            return
        if refusal.retry:
            raise RefusedError(refusal.code, refusal.message)
        raise RestError({"replaced": 409, "deleted": 404}.get(refusal.code, 500), refusal.message)


# --- requests ---------------------------------------------------------------------------------------------------------


def _languages(manager: SessionManager) -> dict[str, tuple[str, str]]:
    """Source and target of each model."""
    return {name: translator.model.languages for name, translator in manager.translators.items()}


def choose_model(models: Mapping[str, tuple[str, str]], source: str, target: str) -> str:
    """The model for a pair; `auto` is whatever is translated into the target, if that is one language."""
    fitting = [name for name, pair in models.items() if pair[1] == target and source in (pair[0], "auto")]
    if not fitting:
        raise RestError(400, f"this pair of languages is not here; this server has {', '.join(models)}")
    if len(fitting) > 1:
        raise RestError(400, "languages are not recognised here; say the source's")
    return fitting[0]


def parse_request(fields: Mapping[str, Any]) -> TranslateRequest:
    """What the fields of a request ask for. Others than LibreTranslate's are passed over; null is as good as none."""
    given = {key: value for key, value in fields.items() if value is not None}
    try:
        return from_dict(TranslateRequest, given, pass_over=True)
    except MismatchError as error:
        raise RestError(400, error.without_text()) from None
    except ConfigError as error:
        raise RestError(400, str(error)) from None


async def _fields(request: Request) -> dict[str, Any]:
    """The fields of a request in JSON, or of a form of either kind."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "multipart/form-data":
            _check_charset(request.headers["content-type"])
            async with request.form(max_files=0, max_fields=MOST_FIELDS, max_part_size=MAX_BYTES) as form:
                return form_fields([(key, value) for key, value in form.multi_items() if isinstance(value, str)])
        body = await request.body()
        if kind == "application/x-www-form-urlencoded":
            # Not by `form`: that takes bytes which are not escaped for Latin-1, and `curl -d` escapes nothing.
            return form_fields(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS))
        return read_json(body)
    except FormatError as error:
        raise RestError(400, f"{NO_FIELDS}: {error}") from None
    except (HTTPException, ValueError):
        raise RestError(400, NO_FIELDS) from None


def _check_charset(content_type: str) -> None:
    """A form may name any codec of Python's, and some of those take for ever: punycode half a second for 64 KB."""
    # By the parser of forms itself: a header can be spelt such that another one reads another charset.
    _, parameters = parse_options_header(content_type)
    if parameters.get(b"charset", b"utf-8").lower() not in CHARSETS:
        raise ValueError("a charset that no form has")


def form_fields(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A form as JSON would have it: numbers, true and false as such, and `q` as a list if it comes more than once."""
    fields: dict[str, Any] = dict(pairs)
    texts = [value for key, value in pairs if key == "q"]
    if len(texts) > 1:
        fields["q"] = texts
    alternatives, session = fields.get("alternatives", ""), fields.get("session")
    if alternatives.isascii() and alternatives.isdigit():
        fields["alternatives"] = int(alternatives[:9])
    if session in ("true", "false"):
        fields["session"] = session == "true"
    return fields
