"""`DELETE /api/sessions/NAME`: a session and all that was said in it, gone before its time.

Whoever holds the session's secret may delete it, whoever holds the API key that began it, and the operator. On a server
without keys, which only this machine reaches, everybody is the operator.
"""

from __future__ import annotations

from fastapi import FastAPI, HTTPException, Request, Response

from turia.server.access import Keys, bearer, matches
from turia.server.session import ActiveSession
from turia.server.sessions import SessionManager


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
        await managed_session(request, session_id)
        manager: SessionManager = request.app.state.manager
        await manager.delete(session_id)
        request.app.state.downloads.forget(session_id)


async def managed_session(request: Request, session_id: str) -> ActiveSession:
    """The session, for somebody who may delete and steer it."""
    manager: SessionManager = request.app.state.manager
    access = request.app.state.access
    shown = bearer(request.headers.get("authorization"))
    if access.keys and shown is None:
        manager.metrics.refused("key")
        raise HTTPException(401, "the session's secret or a key is needed", {"WWW-Authenticate": "Bearer"})
    session = await manager.find(session_id)
    if session is None:
        raise HTTPException(404, "no such session")
    if not _may_manage(session, shown, access.keys, access.operators):
        manager.metrics.refused("secret")
        raise HTTPException(403, "neither the session's secret, nor the key that began it, nor an operator's key")
    return session


def _may_manage(session: ActiveSession, shown: str | None, keys: Keys, operators: Keys) -> bool:
    """Whether the holder of what was shown may delete and steer the session."""
    if operators and operators.owner(shown) is not None:
        return True
    return matches(shown, session.secret_hash) or (not keys or keys.owner(shown) == session.owner)
