"""Owns the calls of one connection to an MCP server that are in progress. A call ends at its timeout. The timeout
pauses while the call waits for the user.

It must not know what a call does: `connection.py` begins the calls, and `server_requests.py` asks the user.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Generator

    from jupyter_eca.mcp_client.client_features import McpCaller
    from jupyter_eca.workspace.tool_result import Report

# Each report of progress starts the timeout of a call again. The whole call may take at most this many timeouts.
_MAX_TIMEOUTS: Final = 30


@dataclass(eq=False)
class ActiveCall:
    """One call in progress."""

    caller: McpCaller
    """Who uses the server in this call."""
    timeout: float
    """Seconds without progress after which the call ends."""
    limit: asyncio.Timeout
    """Ends the call. It is rescheduled by progress and by pauses."""
    question_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the user is asked, so that there is one question at a time."""
    _latest_end: float = field(init=False)
    """The time of the loop at which the call ends even if it reports progress."""
    _scopes: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])
    """The scopes that wait for the user now."""

    def __post_init__(self) -> None:
        self._latest_end = _now() + self.timeout * _MAX_TIMEOUTS

    def report_progress(self, report: Report) -> None:
        """Pass on the progress, and start the timeout again."""
        self._extend()
        self.caller.report(report)

    @contextmanager
    def pause_timeout(self) -> Generator[anyio.CancelScope]:
        """Pause the timeout while the block waits for the user. If the call ends, the block is cancelled by the scope
        that is yielded."""
        began = _now()
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        self._reschedule(None)
        try:
            with scope:
                yield scope
        finally:
            self._scopes.discard(scope)
            self._latest_end += _now() - began
            self._extend()

    def end(self) -> None:
        """Cancel all waits for the user, because the call has ended."""
        for scope in tuple(self._scopes):
            scope.cancel()

    def _extend(self) -> None:
        """Start the timeout again, unless the call waits for the user."""
        if not self._scopes:
            self._reschedule(min(_now() + self.timeout, self._latest_end))

    def _reschedule(self, when: float | None) -> None:
        """Set the time at which the call ends, in seconds of the clock of the event loop; None pauses the timeout."""
        # Progress may still arrive after the answer. Then the timeout has ended, and cannot be rescheduled.
        with suppress(RuntimeError):
            self.limit.reschedule(when)


# The call that runs in this context. HTTP transports handle the messages that belong to a request in the context that
# sent the request. So this variable tells which call a message of the server belongs to.
_CALL: ContextVar[ActiveCall | None] = ContextVar("call", default=None)


class ActiveCalls:
    """The calls in progress, the newest last."""

    def __init__(self) -> None:
        self._calls: list[ActiveCall] = []

    def __len__(self) -> int:
        return len(self._calls)

    @contextmanager
    def begin(self, caller: McpCaller, timeout: float, limit: asyncio.Timeout) -> Generator[ActiveCall]:
        """Register a call of `caller` while the block runs. When the block ends, the call ends. `timeout` is how many
        seconds the call may take without a report of progress. `limit` is the object that ends it after this time."""
        call = ActiveCall(caller, timeout, limit)
        self._calls.append(call)
        token = _CALL.set(call)
        try:
            yield call
        finally:
            _CALL.reset(token)
            self._calls.remove(call)
            call.end()

    def find_call(self) -> ActiveCall | None:
        """Return the call that a message from the server belongs to; None when no user can be asked for that call. Over
        stdio, a message does not say which call it belongs to. Then the newest call of a chat is returned."""
        call = _CALL.get()
        if call in self._calls:
            return call if call.caller.chat else None
        return next((call for call in reversed(self._calls) if call.caller.chat), None)


def _now() -> float:
    """Return the time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()
