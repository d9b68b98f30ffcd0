"""`DELETE /api/sessions/NAME`: a session and all that was said in it, gone before its time.

Whoever holds the session's secret may delete it, whoever holds the API key that began it, and the operator. On a server
without keys, which only this machine reaches, everybody is the operator. What is damaged can be deleted as everything
else, where it can still be read whose it is; the operator can delete it in any case.
"""

from __future__ import annotations

import asyncio

from fastapi import FastAPI, HTTPException, Request, Response

from turia.server.access import bearer, matches
from turia.server.keyring import note_use
from turia.server.logs import alias
from turia.server.session import ActiveSession
from turia.server.sessions import SessionManager
from turia.server.stores.base import DamagedError, SessionOwner


def add_deletion(app: FastAPI) -> None:
    @app.delete(
        "/api/sessions/{session_id}",
        status_code=204,
        response_class=Response,
        # The lowest release of FastAPI that we take reads "None" as a kind of body.
        response_model=None,
        summary="Delete a session: with its secret, the key that began it, or an operator's key",
        responses={401: {}, 403: {}, 404: {}, 503: {}},
    )
    async def delete(request: Request, session_id: str) -> None:
        manager: SessionManager = request.app.state.manager
        try:
            await managed_session(request, session_id)
        except DamagedError:
            _check_may_manage(request, await asyncio.to_thread(manager.store.whose, session_id))
        await manager.delete(session_id)
        request.app.state.downloads.forget(session_id)


async def managed_session(request: Request, session_id: str) -> ActiveSession:
    """The session, for somebody who may delete and steer it."""
    manager: SessionManager = request.app.state.manager
    if request.app.state.access.keys and bearer(request.headers.get("authorization")) is None:
        manager.metrics.refused("key")
        raise HTTPException(401, "the session's secret or a key is needed", {"WWW-Authenticate": "Bearer"})
    session = await manager.find(session_id)
    if session is None:
        raise HTTPException(404, "no such session")
    _check_may_manage(request, session)
    return session


def is_operator(request: Request) -> bool:
    """Whether the request has an operator's key. Without keys, everybody is the operator."""
    access, shown = request.app.state.access, bearer(request.headers.get("authorization"))
    return not access.keys or (bool(access.operators) and access.operators.owner(shown) is not None)


def _check_may_manage(request: Request, session: ActiveSession | SessionOwner | None) -> None:
    """Refuses whoever may not delete and steer the session; without one, nobody knows any more whose it is."""
    access, shown = request.app.state.access, bearer(request.headers.get("authorization"))
    if is_operator(request):
        if access.keys:
            _note_use(request, "operator")
        return
    if session is None:
        raise DamagedError
    if matches(shown, session.secret_hash):
        return
    if access.keys.owner(shown) != session.owner:
        request.app.state.manager.metrics.refused("secret")
        raise HTTPException(403, "neither the session's secret, nor the key that began it, nor an operator's key")
    _note_use(request, session.owner)


def _note_use(request: Request, owner: str) -> None:
    session_id = request.path_params["session_id"]
    # Who reads the log must not be able to open the session.
    note_use(owner, f"{request.method} {request.url.path.replace(session_id, alias(session_id))}")
