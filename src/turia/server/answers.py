"""The shape of every HTTP error, and answers to HEAD.

An error is {"detail": MESSAGE, "code": CODE, "error": MESSAGE}: `detail` is what clients of release 0.1 look for, and
comes first because they look there; `error` is what LibreTranslate's clients look for; `code` is for programs. It never
repeats a text that was sent.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CODES = {
    400: "request",
    401: "key",
    403: "refused",
    404: "not-found",
    405: "method",
    408: "slow-request",
    409: "replaced",
    413: "size",
    422: "request",
    503: "busy",
}
"""What an error is called where nothing more exact is known."""


def error_answer(
    status: int,
    message: str,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, str | int] | None = None,
) -> Response:
    """An error as every route gives it; `more` is what this route says besides."""
    content = {"detail": message, "code": code or CODES.get(status, "failed"), "error": message}
    return JSONResponse({**content, **(more or {})}, status, headers)


def readiness(ready: bool, yes: str, more: Mapping[str, str | int] | None = None) -> Response:
    """Whether streams are taken, for those who choose a server to send somebody to."""
    if ready:
        return JSONResponse({"status": yes, **(more or {})})
    message = "no streams are taken now: the server starts or stops, or its store does not answer"
    return error_answer(503, message, "not-ready", more={"status": "not ready", **(more or {})})


def add_error_answers(app: FastAPI) -> None:
    """Errors of the framework, and those that nobody foresaw, in the same shape."""
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _wrong_request)
    app.add_exception_handler(Exception, _unforeseen)


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_answer(error.status_code, str(error.detail), headers=error.headers)


async def _wrong_request(_: Request, error: Exception) -> Response:
    """The places that are wrong, without what stands there."""
    assert isinstance(error, RequestValidationError)
    wrong = (f"{'.'.join(map(str, item['loc'][1:]))}: {item['msg']}" for item in error.errors())
    return error_answer(422, "; ".join(wrong))


async def _unforeseen(_: Request, error: Exception) -> Response:
    """The server's own fault: uvicorn logs it, as it is raised again afterwards."""
    return error_answer(500, "the server failed; its log says more")


class AnswersHead:
    """HEAD wherever GET is answered: the same status and headers, and no body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, without_body)
