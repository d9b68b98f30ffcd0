"""`POST /api/sessions/NAME/steer`: an operator corrects and steers a session, whoever speaks in it (docs/operator.md).

Whoever may delete a session may steer it: with its secret, the API key that began it, or an operator's key; with the
secret only while that API key is good. What is asked for goes to the worker behind the inputs that it has, and leads to
events, which everybody sees. If another server of the store has the session, that one is asked (`requests`).
"""

from __future__ import annotations

import asyncio
import time

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse

from turia.engine.backend import run_steps
from turia.protocol.corrections import Correct, Insert, OperatorMessage, TextChange, parse_operator
from turia.protocol.events import EVENTS
from turia.protocol.values import ProtocolError
from turia.server.captions import Captions
from turia.server.deletion import is_operator, managed_session
from turia.server.edits import Steered
from turia.server.pages import page_text
from turia.server.requests import ask_others
from turia.server.session import ActiveSession
from turia.server.sessions import SessionManager
from turia.server.stores.base import SessionUpdate

JUST_MOVED = "the session has just gone on elsewhere; try again"


def add_operator(app: FastAPI) -> None:
    page = page_text("operate.html")

    # Never embedded: another site could make somebody click there. Whoever has no key can only look.
    @app.get("/operate/{session_id}", include_in_schema=False)
    async def operators_page(session_id: str) -> HTMLResponse:
        return HTMLResponse(page)

    @app.get("/room/{name}/operate", include_in_schema=False)
    async def operators_page_of_a_room(name: str) -> HTMLResponse:
        return HTMLResponse(page)

    @app.post(
        "/api/sessions/{session_id}/steer",
        status_code=202,
        summary="Correct or steer a session: with its secret, the key that began it, or an operator's key",
        responses={401: {}, 403: {}, 404: {}, 409: {}, 422: {}, 503: {}},
    )
    async def steer(request: Request, session_id: str) -> JSONResponse:
        manager: SessionManager = request.app.state.manager
        session = await _steered_session(request, session_id)
        manager.count_steering(session)
        data = await request.body()
        manager.weigh(session.owner, data)
        await steer_session(manager, session, data)
        return JSONResponse({"events": session.progress.events}, 202)

    @app.get(
        "/api/sessions/{session_id}/steer",
        summary="Whether the bearer may steer the session",
        responses={401: {}, 403: {}, 404: {}},
    )
    async def may_steer(request: Request, session_id: str) -> JSONResponse:
        manager: SessionManager = request.app.state.manager
        session = await _steered_session(request, session_id)
        files = [file for one in manager.translators.values() if (file := one.glossary_file) is not None]
        # Where the file is on this machine is nobody's business.
        wrong = [file.problem.replace(str(file.path), file.path.name) for file in files if file.problem is not None]
        return JSONResponse(
            {"ended": session.progress.ended, "speaking": session.speaker is not None, "glossary_problems": wrong}
        )


async def _steered_session(request: Request, session_id: str) -> ActiveSession:
    """The session, for somebody who may steer it. Whoever has lost the key may still delete what was said with it, but
    puts nothing before the audience any more."""
    session = await managed_session(request, session_id)
    if not is_operator(request) and not request.app.state.access.keys.knows(session.owner):
        request.app.state.manager.metrics.refused("key")
        raise HTTPException(403, "the key of this session was revoked")
    return session


async def steer_session(manager: SessionManager, session: ActiveSession, text: bytes) -> None:
    """Does what was asked for, or refuses it."""
    message = parse_operator(text)
    changes_text = isinstance(message, Correct | Insert)
    if session.progress.ended and not changes_text:
        raise HTTPException(409, "the session has ended; its text can still be corrected")
    if session.task is None and manager.cluster is not None:
        answer = await ask_others(manager.cluster, manager.name, session.id, text.decode())
        if answer is not None:
            if answer.status != 202:
                raise HTTPException(answer.status, answer.detail)
            return
    if session.task is None:
        await _steer_stored(manager, session, message)
        return
    steer_here(manager, session, message)


def steer_here(manager: SessionManager, session: ActiveSession | None, message: OperatorMessage) -> None:
    """In a session that this server's worker has."""
    if session is None or session.task is None:
        raise HTTPException(409, JUST_MOVED)
    if isinstance(message, Correct | Insert):
        session.task.captions.check_text(message)
    manager.submit(session.task, [Steered(message)])


async def _steer_stored(manager: SessionManager, session: ActiveSession, message: OperatorMessage) -> None:
    """In a session that no worker has: it goes on in the store, and nobody else may have gone on with it meanwhile."""

    def work(message: TextChange) -> SessionUpdate | None:
        stored = manager.store.load(session.id)
        if stored is None:
            return None
        captions = Captions.restore(manager.translators, stored.state, stored.progress)
        captions.check_text(message)
        now = time.time()
        steps = captions.apply([Steered(message)], lambda: 1000 * (now - stored.began))
        events = tuple(EVENTS.to_json(event) for event in run_steps(steps, captions.model.backend))
        update = SessionUpdate(
            session.id, stored.token, stored.progress, captions.progress, events, captions.state(), touched=now
        )
        return update if manager.store.advance([update])[0] else None

    async with session.loading:
        if session.task is not None:
            raise HTTPException(409, "the speaker has just come back; try again")
        if not isinstance(message, Correct | Insert):
            # The models belong to the worker's thread.
            raise HTTPException(409, "nobody speaks in this session now; its text can be corrected")
        try:
            update = await asyncio.to_thread(work, message)
        except ProtocolError as error:
            raise HTTPException(422, str(error)) from None
        if update is None:
            raise HTTPException(409, JUST_MOVED)
        session.catch_up(update.after, update.events)
