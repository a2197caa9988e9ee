"""One session of a server, from its start to its end, and the sentences for its failures. It is the boundary to the
SDK: whatever the SDK raises becomes a sentence here. `server` decides what follows.
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
from jupyter_eca.mcp_client.connection import LostError, NoAnswerError, ServerConnection, Way, run, ways

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import anyio

    from jupyter_eca.mcp_client.connection_settings import ConnectionSettings


# Statuses of HTTP that say "later": a timeout, too many requests, and failures of the server or of a gateway.
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})

_MORE: Final = "it wants its user to sign in again, for more than they have allowed so far"


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a session ended by itself."""

    why: str
    refused: bool = False
    passing: bool = False
    """Whether the cause may pass by itself: nobody listens there, or the server is overloaded."""


class StaleError(Exception):
    """The server does not know our session or our token any more. It did nothing of what it was asked."""


async def run_session(
    settings: ConnectionSettings,
    auth: httpx2.Auth | None,
    scope: anyio.CancelScope,
    up: Callable[[ServerConnection], None],
) -> SessionEnd:
    """Run one session. `up` is called when the tools are known. Cancelling `scope` ends the session properly."""
    is_url = bool(settings.settings.url)
    ending = SessionEnd(f"it did not finish starting within {settings.pace.timeout:g} s", passing=is_url)
    watch = transports.TransportWatch()
    with scope:
        for way in ways(settings, auth):
            suspect = partial(settings.attached.suspect, settings.name)
            watch = transports.TransportWatch(hear=partial(settings.log.write, "stderr"), updated=suspect)
            refusal: list[int] = []
            transports.REFUSAL.set(refusal)
            try:
                await run(way, settings, up, watch)
            except Exception as error:  # noqa: BLE001  # the boundary to a server: it may cost itself only
                first = ending
                ending = _explain_end(error, watch, refusal)
                if way.first and _is_worth_another(way, error, refusal):
                    continue
                if way.http and not way.first and not ending.refused and not watch.lived:
                    # That it is none of the older kind either does not explain why it is none of the newer.
                    ending = first
            break
    if scope.cancelled_caught:
        return replace(ending, why=f"{ending.why}{_describe_last_words(watch)}", refused=False)
    return ending


async def call_server(connection: ServerConnection, work: Callable[[ServerConnection], Awaitable[Any]]) -> Any:
    """Run `work` on a connection. Raises: StaleError; ToolError for everything else that went wrong."""
    refusal: list[int] = []
    token = transports.REFUSAL.set(refusal)
    try:
        return await work(connection)
    except ToolError:
        raise
    except NoAnswerError as error:
        raise ToolError(str(error)) from None
    except Exception as error:  # noqa: BLE001  # the boundary to a server: what it answers may be anything
        if 404 in refusal:
            raise StaleError from None
        if 401 in refusal:
            connection.lose("it wants credentials", refused=True)
            raise StaleError from None
        if _is_closed(error) and 403 in refusal:
            # Where nobody is signed in, a 403 is an answer and ends nothing: here the SDK would have sent its user.
            connection.lose(_MORE, refused=True)
            raise ToolError(_MORE) from None
        if connection.watch.fault:
            raise ToolError(f"{connection.watch.fault}; the call may have been done") from None
        if _is_closed(error):
            raise ToolError("it ended during the call, which may or may not have been done") from None
        raise ToolError(f"it answered HTTP {refusal[-1]}" if refusal else summarize_error(error)) from None
    finally:
        transports.REFUSAL.reset(token)


def summarize_error(error: BaseException) -> str:
    """Return one line of an error; of a group, its first real error."""
    error = _leaf(error)
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"][:5])
            return f"its answer breaks the protocol: {place}: {first['msg']}"
        case OSError(strerror=str(words), filename=name):
            return f"{words}: {name}" if name else words
        case _:
            return next(iter(str(error).splitlines()), "") or type(error).__name__


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _explain_end(error: Exception, watch: transports.TransportWatch, refusal: list[int]) -> SessionEnd:
    leaf = _leaf(error)
    refused = 401 in refusal or (isinstance(leaf, LostError) and leaf.refused)
    why = summarize_error(leaf)
    if isinstance(leaf, OAuthFlowError):
        return SessionEnd(why, refused=True)
    if refusal and not isinstance(leaf, LostError):
        why = f"it answered HTTP {refusal[-1]}"
    elif _is_closed(leaf):
        why = "it ended before it was ready"
    passing = isinstance(leaf, httpx2.TransportError) or (bool(refusal) and refusal[-1] in _PASSING)
    return SessionEnd(f"{why}{_describe_last_words(watch)}", refused, passing)


def _describe_last_words(watch: transports.TransportWatch) -> str:
    garbage = ", and wrote something that is not JSON-RPC" if watch.garbage else ""
    return f"{garbage}; it said: {watch.last_words}" if watch.last_words else garbage


def _is_closed(error: BaseException) -> bool:
    leaf = _leaf(error)
    return isinstance(leaf, MCPError) and leaf.error.code == CONNECTION_CLOSED


def _is_worth_another(way: Way, error: Exception, refusal: list[int]) -> bool:
    """Whether to try the next way: a process ended over the first question, or a URL does not accept the newer kind of
    request."""
    if isinstance(_leaf(error), OAuthFlowError):
        return False  # where a sign-in looks for its servers, many addresses are not found
    if way.http:
        return any(400 <= status < 500 and status not in {401, 403} for status in refusal)
    return _is_closed(error)
