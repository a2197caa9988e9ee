"""Runs one session of an MCP server: it connects, and keeps the connection until it ends. It also runs the calls on the
connection.

It is the boundary to the SDK (the package `mcp`): here each error of the SDK becomes a sentence that says what
happened. The module must not decide what follows a failure: `server.py` does.

These sentences call the server "it", because they are always shown together with the name of the server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import httpx2
from mcp import MCPError
from mcp.client.auth import OAuthFlowError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from jupyter_eca.errors import ToolError
from jupyter_eca.mcp_client import transports
from jupyter_eca.mcp_client.connection import (
    CallTimeoutError,
    ConnectionAttempt,
    ConnectionLostError,
    ServerConnection,
    connect_and_serve,
    list_attempts,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import anyio

    from jupyter_eca.mcp_client.connection_settings import ConnectionSettings


# HTTP statuses of failures that may be gone later: a timeout, too many requests, failures of the server or of a
# gateway.
_TEMPORARY_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})

# Why a session ends that needs a larger scope. It is shown after the name of the server.
_NEEDS_MORE: Final = "it wants its user to sign in again and to allow more than before"


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a session ended by itself."""

    why: str
    """The reason, in words for the user."""
    is_refused: bool = False
    """Whether the server wants credentials."""
    is_temporary: bool = False
    """Whether the cause may be gone later: nothing listens at the address, or the server is overloaded."""


class SessionForgottenError(Exception):
    """The server does not know our session or our token any more. It has not done what we requested."""


async def run_session(
    settings: ConnectionSettings,
    auth: httpx2.Auth | None,
    scope: anyio.CancelScope,
    on_ready: Callable[[ServerConnection], None],
) -> SessionEnd:
    """Run one session, and return how it ended. `auth` signs in to a URL; None for no sign-in. `on_ready` is called
    when the tools are known. To end the session, cancel `scope`: then the SDK ends a process in the right way."""
    is_url = bool(settings.config.url)
    ending = SessionEnd(f"it did not finish starting within {settings.timing.timeout:g} s", is_temporary=is_url)
    watch = transports.TransportWatch()
    with scope:
        for attempt in list_attempts(settings, auth):
            mark_changed = partial(settings.resources.mark_changed, settings.name)
            watch = transports.TransportWatch(
                on_stderr=partial(settings.log.write, "stderr"), on_resource_updated=mark_changed
            )
            statuses: list[int] = []
            transports.ERROR_STATUSES.set(statuses)
            try:
                await connect_and_serve(attempt, settings, on_ready, watch)
            except Exception as error:  # noqa: BLE001  # the boundary to a server: its failure must end nothing else
                first = ending
                ending = _explain_end(error, watch, statuses)
                # A server that was ready speaks the newer transport. The second attempt would have no time limit.
                if attempt.is_first and not watch.was_ready and _should_try_next(attempt, error, statuses):
                    continue
                if attempt.is_http and not attempt.is_first and not ending.is_refused and not watch.was_ready:
                    # The second attempt failed too. The error of the first one explains more.
                    ending = first
            break
    if scope.cancelled_caught:
        return replace(ending, why=f"{ending.why}{_describe_stderr(watch)}", is_refused=False)
    return ending


async def call_server(connection: ServerConnection, work: Callable[[ServerConnection], Awaitable[Any]]) -> Any:
    """Run `work` on a connection, and return its result.

    Raises: SessionForgottenError; ToolError for every other failure.
    """
    statuses: list[int] = []
    token = transports.ERROR_STATUSES.set(statuses)
    try:
        return await work(connection)
    except ToolError:
        raise
    except CallTimeoutError as error:
        raise ToolError(str(error)) from None
    except Exception as error:  # noqa: BLE001  # the boundary to a server: its answer may cause any error
        if 404 in statuses:
            raise SessionForgottenError from None
        if 401 in statuses:
            connection.end("it wants credentials", is_refused=True)
            raise SessionForgottenError from None
        if _is_closed(error) and 403 in statuses:
            # The user is signed in. The SDK wanted to send them to sign in again for a larger scope, and that closed
            # the connection. If nobody is signed in, a status 403 is an ordinary answer, and closes nothing.
            connection.end(_NEEDS_MORE, is_refused=True)
            raise ToolError(_NEEDS_MORE) from None
        if connection.watch.fault:
            raise ToolError(f"{connection.watch.fault}; the call may have been done") from None
        if _is_closed(error):
            raise ToolError("it ended during the call, which may or may not have been done") from None
        raise ToolError(f"it answered HTTP {statuses[-1]}" if statuses else summarize_error(error)) from None
    finally:
        transports.ERROR_STATUSES.reset(token)


def summarize_error(error: BaseException) -> str:
    """Describe an error in one line. Of an exception group, the first error is described."""
    error = _unwrap(error)
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"][:5])
            return f"its answer breaks the protocol: {place}: {first['msg']}"
        case OSError(strerror=str(reason), filename=name):
            return f"{reason}: {name}" if name else reason
        case _:
            return next(iter(str(error).splitlines()), "") or type(error).__name__


def _unwrap(error: BaseException) -> BaseException:
    """Return the first error in an exception group; any other error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _explain_end(error: Exception, watch: transports.TransportWatch, statuses: list[int]) -> SessionEnd:
    """Return how a session ended by this error. `statuses` are the HTTP error statuses of its requests."""
    leaf = _unwrap(error)
    is_refused = 401 in statuses or (isinstance(leaf, ConnectionLostError) and leaf.is_refused)
    why = summarize_error(leaf)
    if isinstance(leaf, OAuthFlowError):
        return SessionEnd(why, is_refused=True)
    if statuses and not isinstance(leaf, ConnectionLostError):
        why = f"it answered HTTP {statuses[-1]}"
    elif _is_closed(leaf):
        why = "it ended before it was ready"
    is_temporary = isinstance(leaf, httpx2.TransportError) or (bool(statuses) and statuses[-1] in _TEMPORARY_STATUSES)
    return SessionEnd(f"{why}{_describe_stderr(watch)}", is_refused, is_temporary)


def _describe_stderr(watch: transports.TransportWatch) -> str:
    """Return what the program wrote, as the end of a sentence; empty when it wrote nothing of interest."""
    note = ", and wrote something that is not JSON-RPC" if watch.invalid_messages else ""
    return f"{note}; it said: {watch.last_stderr_line}" if watch.last_stderr_line else note


def _is_closed(error: BaseException) -> bool:
    """Return whether the SDK reports that the connection was closed."""
    leaf = _unwrap(error)
    return isinstance(leaf, MCPError) and leaf.error.code == CONNECTION_CLOSED


def _should_try_next(attempt: ConnectionAttempt, error: Exception, statuses: list[int]) -> bool:
    """Return whether to make the second attempt: the program ended at the first request, or the URL does not accept the
    newer transport."""
    if isinstance(_unwrap(error), OAuthFlowError):
        return False  # a sign-in tries several addresses, so a status 404 among `statuses` means nothing
    if attempt.is_http:
        return any(400 <= status < 500 and status not in {401, 403} for status in statuses)
    return _is_closed(error)
