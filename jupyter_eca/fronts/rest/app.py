"""Owns the HTTP side of the REST front: the table of operations, from which the routes and their description are made,
and the functions that answer requests. The front follows a contract: the description of an HTTP API for chats, for
which clients exist.

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
from jupyter_eca.fronts.client_access import read_access
from jupyter_eca.fronts.rest.document import Operation, make_openapi, write_page
from jupyter_eca.fronts.rest.front import HELD_CHARACTERS, NotConnected, UnknownAgent, UnknownServer
from jupyter_eca.fronts.rest.projection import TurnFailed
from jupyter_eca.fronts.rest.stream import EventStream, cancel_when_client_leaves
from jupyter_eca.protocol import rest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request

    from jupyter_eca.fronts.rest.front import RestFront, RestTurn

T = TypeVar("T", bound=rest.RestModel)  # the model of a request's body

# The largest body of a request in bytes. It contains a text that a user typed or pasted.
MAX_BODY_BYTES: Final = 4 * 1024 * 1024

# The HTTP status of each error. All other errors of ours have the status 400.
_STATUS: Final[dict[type[EcaError], int]] = {
    UnknownServer: 404,
    UnknownChat: 404,
    UnknownAgent: 404,
    BusyError: 409,
    NotConnected: 502,
}


class Handlers:
    """The functions that answer requests, one for each operation."""

    def __init__(self, front: RestFront) -> None:
        self._front = front

    # -- the contract

    async def list_servers(self, _: Request) -> Response:
        """Answer with the tool servers that are configured."""
        return _make_response(await self._front.list_servers())

    async def connect(self, request: Request) -> Response:
        """Connect the tool server that the path names."""
        may_start = read_access(request.scope).may_approve
        return _make_response(await self._front.connect(request.path_params["server_id"], may_start=may_start))

    async def show_status(self, _: Request) -> Response:
        """Answer which tool server is connected."""
        return _make_response(self._front.get_status())

    async def disconnect(self, _: Request) -> Response:
        """Disconnect the tool server."""
        await self._front.disconnect()
        return _make_response(rest.Success())

    async def stream_answer(self, request: Request) -> Response:
        """Send a message to the model, and stream its answer."""
        turn = await self._open_turn(request)
        # The clients that were written for the contract do not understand ids of events, and do not send this header.
        has_ids = "text/event-stream" in request.headers.get("accept", "") or "last-event-id" in request.headers
        return EventStream(self._front, turn, ids=has_ids)

    async def answer(self, request: Request) -> Response:
        """Send a message to the model, and answer with its whole answer."""
        turn = await self._open_turn(request, held_characters=inf)
        with self._front.reading(turn):
            answer = await cancel_when_client_leaves(request.receive, self._read_whole_answer(turn))
        return answer or Response(status_code=499)  # nobody reads this response, because the client has left

    # -- beyond the contract

    async def list_chats(self, _: Request) -> Response:
        """Answer with the chats of this front."""
        return _make_response(await self._front.list_chats())

    async def delete_chat(self, request: Request) -> Response:
        """Delete the chat that the path names."""
        await self._front.delete(request.path_params["chat_id"])
        return _make_response(rest.Success())

    async def stop_answer(self, request: Request) -> Response:
        """Stop the answer in the chat that the path names."""
        await self._front.stop(request.path_params["chat_id"])
        return _make_response(rest.Success())

    async def show_health(self, _: Request) -> Response:
        """Answer that the server runs."""
        return _make_response(rest.Health(version=__version__))

    # -- helpers

    async def _open_turn(self, request: Request, *, held_characters: float = HELD_CHARACTERS) -> RestTurn:
        """Begin a turn with the message of the request. If the request has the header Last-Event-ID, return the turn of
        this event instead. `held_characters` says how much text is held back while a tool call may follow it, see
        `RestProjection`."""
        chat_request = await _read_body(request, rest.ChatRequest)
        chat = chat_request.chat_id or self._front.default_chat
        after = request.headers.get("last-event-id", "")
        if not after:
            _check_may_ask(request)
            message, agent = chat_request.message, chat_request.agent
            by = read_access(request.scope).user
            return await self._front.ask(message, chat, agent, held_characters=held_characters, by=by)
        # A number of fewer than 19 digits fits into 64 bits, as the ids of events do.
        if not (after.isascii() and after.isdigit() and len(after) < 19):
            raise HTTPException(422, "Last-Event-ID: this is not an id of this server.")
        return await self._front.resume(chat, int(after))

    async def _read_whole_answer(self, turn: RestTurn) -> Response:
        """Read a turn to its end, and return the answer in one piece."""
        texts: list[str] = []
        # After an hour without an event, the item None is read, and ignored.
        async with aclosing(self._front.stream_items(turn, 3600.0)) as items:
            async for item in items:
                if item is not None and isinstance(item.content, TurnFailed):
                    raise HTTPException(502, item.content.message)
                if item is not None and isinstance(item.content, rest.Text):
                    texts.append(item.content.content)
        body = rest.ChatResponse(response="".join(texts), tool_calls=tuple(turn.projection.calls))
        return _make_response(body, {"x-chat-id": turn.chat})


def list_operations(handlers: Handlers) -> Sequence[Operation]:
    """Return all operations. The first six belong to the contract."""
    body_errors = {409: "The conversation is still answering.", 413: "", 415: "", 422: "The body is invalid."}
    unknown_chat = {404: "There is no such conversation."}
    resume_error = {404: "There is no such agent, or no answer in this conversation has that Last-Event-ID."}
    return (
        Operation("GET", "/servers", handlers.list_servers, list[rest.Server], "List the configured tool servers."),
        Operation(
            "POST",
            "/connect/{server_id:path}",
            handlers.connect,
            rest.Connected,
            "Connect one tool server: the model gets its tools and no others. A new conversation begins.",
            errors={404: "There is no such server.", 502: "The server does not start; the one before stays connected."},
        ),
        Operation("GET", "/status", handlers.show_status, rest.ConnectionStatus, "Show which server is connected."),
        Operation(
            "POST", "/disconnect", handlers.disconnect, rest.Success, "Disconnect the server: the model gets no tools."
        ),
        Operation(
            "POST",
            "/chat/stream",
            handlers.stream_answer,
            rest.ToolStart | rest.ToolEnd | rest.Text,
            "Send a message, and get the answer event by event; the last one is `[DONE]`, or `[ERROR] message`. "
            "The answer is stopped when the client leaves. "
            "With Last-Event-ID no message is sent: the events after that one come again.",
            body=rest.ChatRequest,
            errors={**body_errors, **resume_error},
            streams=True,
            allows_readers=True,
        ),
        Operation(
            "POST",
            "/chat",
            handlers.answer,
            rest.ChatResponse,
            "Send a message, and get the whole answer. It is stopped when the client leaves.",
            body=rest.ChatRequest,
            errors={**body_errors, **resume_error, 502: "The answer failed, or was stopped."},
            allows_readers=True,
        ),
        Operation("GET", "/chats", handlers.list_chats, list[rest.RestChat], "List the conversations of this API."),
        Operation(
            "DELETE",
            "/chats/{chat_id}",
            handlers.delete_chat,
            rest.Success,
            "Delete a conversation, and stop its answer.",
            errors={**unknown_chat, 409: "Another program is answering in the conversation."},
        ),
        Operation(
            "POST",
            "/chats/{chat_id}/stop",
            handlers.stop_answer,
            rest.Success,
            "Stop the current answer.",
            errors=unknown_chat,
        ),
        Operation("GET", "/health", handlers.show_health, rest.Health, "Show that the server is up."),
    )


def make_application(front: RestFront) -> Starlette:
    """Make the application. Its description is at `/docs` for people, and at `/openapi.json` for programs."""
    listed_operations = list_operations(Handlers(front))
    description = make_openapi(listed_operations)

    async def answer_openapi(request: Request) -> Response:
        """Answer with the OpenAPI document, in which the address is that of this application."""
        return JSONResponse({**description, "servers": [{"url": request.scope.get("root_path") or "/"}]})

    async def answer_page(_: Request) -> Response:
        """Answer with the page for people."""
        policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        return HTMLResponse(write_page(description), headers={"content-security-policy": policy})

    routes = [
        StarletteRoute(operation.path, _choose_endpoint(operation), methods=[operation.method])
        for operation in listed_operations
    ]
    routes.append(StarletteRoute("/openapi.json", answer_openapi))
    routes += [StarletteRoute(path, answer_page) for path in ("/", "/docs")]
    return Starlette(
        routes=routes,
        exception_handlers={HTTPException: _answer_problem, EcaError: _answer_problem, Exception: _answer_problem},
    )


def _choose_endpoint(operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that answers the requests of an operation. It first refuses clients that may only read, if
    the operation is not for them."""
    if operation.method == "GET" or operation.allows_readers:
        return operation.answer

    async def answer(request: Request) -> Response:
        """Answer the request, or refuse it."""
        _check_may_ask(request)
        return await operation.answer(request)

    return answer


def _check_may_ask(request: Request) -> None:
    """Raise HTTPException if the client may only read."""
    access = read_access(request.scope)
    if not access.may_ask:
        raise HTTPException(403, access.reason)


async def _answer_problem(_: Request, error: Exception) -> Response:
    """Make the response to an error, in the form of the contract. The details of an unexpected error are in the log
    only, because they may contain a secret."""
    headers = None
    status, detail = 500, "The server has an internal error; its log has the details."
    if isinstance(error, HTTPException):
        status, detail, headers = error.status_code, error.detail, error.headers
    elif isinstance(error, EcaError):
        status, detail = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400), str(error)
    return JSONResponse(rest.RestProblem(detail=detail).model_dump(), status, headers)


async def _read_body(request: Request, model: type[T]) -> T:
    """Read the body of a request into a model.

    Its content type must be JSON. A browser lets a page of another origin send other content types without asking the
    server first.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "The body must be application/json.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, f"The body is longer than {MAX_BODY_BYTES} bytes.")
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        words = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'the body'}: {problem['msg']}" for problem in problems
        )
        raise HTTPException(422, words) from None


def _make_response(body: rest.RestModel | Sequence[rest.RestModel], headers: dict[str, str] | None = None) -> Response:
    """Make the response of a result. In the list of servers, optional fields without a value are left out, as the
    contract requires. In all other results they are written as null."""
    if isinstance(body, rest.RestModel):
        content = body.model_dump(mode="json")
    else:
        content = [item.model_dump(mode="json", exclude_none=isinstance(item, rest.Server)) for item in body]
    return Response(json.dumps(content), headers=headers, media_type="application/json")
