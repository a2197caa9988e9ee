"""Owns the front over HTTP: one table of operations, from which the routes and their description are made.

It must not know hosts or chats: `front.py` does. `document.py` writes the description.
"""

from __future__ import annotations

import json
from contextlib import aclosing
from math import inf
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route as StarletteRoute

from jupyter_eca._version import __version__
from jupyter_eca.errors import BusyError, EcaError, UnknownChat
from jupyter_eca.fronts.rest.document import Operation, openapi, page
from jupyter_eca.fronts.rest.front import HELD, NotConnected, UnknownServer
from jupyter_eca.fronts.rest.projection import TurnFailed
from jupyter_eca.fronts.rest.stream import EventStream, cancel_when_client_leaves
from jupyter_eca.protocol import rest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from jupyter_eca.fronts.rest.front import RestFront, RestTurn

T = TypeVar("T", bound=rest.RestModel)

# The largest body in bytes; a message is text that a user typed or pasted.
LARGEST: Final = 4 * 1024 * 1024

_STATUS: Final[dict[type[EcaError], int]] = {UnknownServer: 404, UnknownChat: 404, BusyError: 409, NotConnected: 502}


class Handlers:
    """The functions that answer requests."""

    def __init__(self, front: RestFront) -> None:
        self._front = front

    # -- the contract

    async def servers(self, _: Request) -> Response:
        return _json(await self._front.servers())

    async def connect(self, request: Request) -> Response:
        return _json(await self._front.connect(request.path_params["server_id"]))

    async def status(self, _: Request) -> Response:
        return _json(self._front.status())

    async def disconnect(self, _: Request) -> Response:
        await self._front.disconnect()
        return _json(rest.Success())

    async def stream(self, request: Request) -> Response:
        turn = await self._turn(request)
        # A client that accepts event streams gets the fields beyond the contract.
        ids = "text/event-stream" in request.headers.get("accept", "") or "last-event-id" in request.headers
        return EventStream(self._front, turn, ids=ids)

    async def chat(self, request: Request) -> Response:
        turn = await self._turn(request, held_characters=inf)
        with self._front.reading(turn):
            answer = await cancel_when_client_leaves(request.receive, self._whole(turn))
        return answer or Response(status_code=499)  # nobody reads this response, because the client has left

    # -- beyond the contract

    async def chats(self, _: Request) -> Response:
        return _json(await self._front.chats())

    async def delete(self, request: Request) -> Response:
        await self._front.delete(request.path_params["chat_id"])
        return _json(rest.Success())

    async def stop(self, request: Request) -> Response:
        await self._front.stop(request.path_params["chat_id"])
        return _json(rest.Success())

    async def health(self, _: Request) -> Response:
        return _json(rest.Health(version=__version__))

    # -- helpers

    async def _turn(self, request: Request, *, held_characters: float = HELD) -> RestTurn:
        chat_request = await _body(request, rest.ChatRequest)
        chat = chat_request.chat_id or self._front.default_chat
        after = request.headers.get("last-event-id", "")
        if not after:
            return await self._front.ask(chat_request.message, chat, held_characters=held_characters)
        if not (after.isascii() and after.isdigit() and len(after) < 19):
            raise HTTPException(422, "Last-Event-ID: this is not an id of this server.")
        return await self._front.resume(chat, int(after))

    async def _whole(self, turn: RestTurn) -> Response:
        texts: list[str] = []
        async with aclosing(self._front.items(turn, 3600.0)) as items:
            async for item in items:
                if item is not None and isinstance(item.what, TurnFailed):
                    raise HTTPException(502, item.what.message)
                if item is not None and isinstance(item.what, rest.Text):
                    texts.append(item.what.content)
        body = rest.ChatResponse(response="".join(texts), tool_calls=tuple(turn.projection.calls))
        return _json(body, {"x-chat-id": turn.chat})


def operations(handlers: Handlers) -> Sequence[Operation]:
    """Return all operations. The first six are the contract's."""
    chat = {409: "The conversation is still answering.", 413: "", 415: "", 422: "The body is invalid."}
    unknown = {404: "There is no such conversation."}
    resume = {404: "No answer in this conversation has that Last-Event-ID."}
    return (
        Operation("GET", "/servers", handlers.servers, list[rest.Server], "List the configured tool servers."),
        Operation(
            "POST",
            "/connect/{server_id:path}",
            handlers.connect,
            rest.Connected,
            "Connect one tool server: the model gets its tools and no others. A new conversation begins.",
            errors={404: "There is no such server.", 502: "The server does not start; the one before stays connected."},
        ),
        Operation("GET", "/status", handlers.status, rest.ConnectionStatus, "Show which server is connected."),
        Operation(
            "POST", "/disconnect", handlers.disconnect, rest.Success, "Disconnect the server: the model gets no tools."
        ),
        Operation(
            "POST",
            "/chat/stream",
            handlers.stream,
            rest.ToolStart | rest.ToolEnd | rest.Text,
            "Send a message, and get the answer event by event; the last one is `[DONE]`, or `[ERROR] message`. "
            "The answer is stopped when the client leaves. "
            "With Last-Event-ID no message is sent: the events after that one come again.",
            body=rest.ChatRequest,
            errors={**chat, **resume},
            streams=True,
        ),
        Operation(
            "POST",
            "/chat",
            handlers.chat,
            rest.ChatResponse,
            "Send a message, and get the whole answer. It is stopped when the client leaves.",
            body=rest.ChatRequest,
            errors={**chat, **resume, 502: "The answer failed, or was stopped."},
        ),
        Operation("GET", "/chats", handlers.chats, list[rest.RestChat], "List the conversations of this API."),
        Operation(
            "DELETE",
            "/chats/{chat_id}",
            handlers.delete,
            rest.Success,
            "Delete a conversation, and stop its answer.",
            errors={**unknown, 409: "Another program is answering in the conversation."},
        ),
        Operation(
            "POST", "/chats/{chat_id}/stop", handlers.stop, rest.Success, "Stop the current answer.", errors=unknown
        ),
        Operation("GET", "/health", handlers.health, rest.Health, "Show that the server is up."),
    )


def application(front: RestFront) -> Starlette:
    """Return the application, with its description at `/docs` and `/openapi.json`."""
    known = operations(Handlers(front))
    description = openapi(known)

    async def document(request: Request) -> Response:
        return JSONResponse({**description, "servers": [{"url": request.scope.get("root_path") or "/"}]})

    async def read(_: Request) -> Response:
        policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        return HTMLResponse(page(description), headers={"content-security-policy": policy})

    routes = [StarletteRoute(operation.path, operation.answer, methods=[operation.method]) for operation in known]
    routes += [StarletteRoute("/openapi.json", document), StarletteRoute("/", read), StarletteRoute("/docs", read)]
    return Starlette(
        routes=routes,
        exception_handlers={HTTPException: _problem, EcaError: _problem, Exception: _problem},
    )


async def _problem(_: Request, error: Exception) -> Response:
    """Write an error in the form of the contract. The details of an unexpected one are for the log, not the client."""
    headers = None
    status, detail = 500, "The server has an internal error; its log has the details."
    if isinstance(error, HTTPException):
        status, detail, headers = error.status_code, error.detail, error.headers
    elif isinstance(error, EcaError):
        status, detail = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400), str(error)
    return JSONResponse(rest.RestProblem(detail=detail).model_dump(), status, headers)


async def _body(request: Request, model: type[T]) -> T:
    """Read a body, which must say that it is JSON: a page of another origin may send anything else without asking."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "The body must be application/json.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST:
            raise HTTPException(413, f"The body is longer than {LARGEST} bytes.")
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        words = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'the body'}: {problem['msg']}" for problem in problems
        )
        raise HTTPException(422, words) from None


def _json(body: rest.RestModel | Sequence[rest.RestModel], headers: dict[str, str] | None = None) -> Response:
    """Write a result. Lists leave out absent optional fields, as the contract wants; `server_id` is written as null."""
    if isinstance(body, rest.RestModel):
        content = body.model_dump(mode="json")
    else:
        content = [item.model_dump(mode="json", exclude_none=isinstance(item, rest.Server)) for item in body]
    return Response(json.dumps(content), headers=headers, media_type="application/json")
