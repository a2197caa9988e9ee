"""The calls of one connection that are in progress. Each ends at its timeout; the clock stops while a call waits for
a person. It knows no SDK call; `connection` begins them.
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

    from jupyter_eca.mcp_client.caller import McpCaller
    from jupyter_eca.workspace.tool_result import Report

# Progress extends a call up to so many timeouts.
_LONGEST: Final = 30


@dataclass(eq=False)
class ActiveCall:
    """One call in progress. `limit` ends it. `asking` is held while its user is asked: one question at a time."""

    behalf: McpCaller
    timeout: float
    limit: asyncio.Timeout
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _last: float = field(init=False)
    _scopes: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    def __post_init__(self) -> None:
        self._last = _now() + self.timeout * _LONGEST

    def progress(self, report: Report) -> None:
        self._extend()
        self.behalf.report(report)

    @contextmanager
    def pause_clock(self) -> Generator[anyio.CancelScope]:
        """Wait for a person: the clock of the call stops meanwhile, and the wait ends with the call."""
        began = _now()
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        self._reschedule(None)
        try:
            with scope:
                yield scope
        finally:
            self._scopes.discard(scope)
            self._last += _now() - began
            self._extend()

    def end(self) -> None:
        """End the call: nobody has to answer for it any more."""
        for scope in tuple(self._scopes):
            scope.cancel()

    def _extend(self) -> None:
        if not self._scopes:
            self._reschedule(min(_now() + self.timeout, self._last))

    def _reschedule(self, when: float | None) -> None:
        # Progress may still come in when the answer is there: then there is nothing to extend.
        with suppress(RuntimeError):
            self.limit.reschedule(when)


# Set around a call. HTTP transports read what belongs to a request in the context that sent it.
_CALL: ContextVar[ActiveCall | None] = ContextVar("call", default=None)


class ActiveCalls:
    def __init__(self) -> None:
        self._live: list[ActiveCall] = []

    def __len__(self) -> int:
        return len(self._live)

    @contextmanager
    def begin(self, behalf: McpCaller, timeout: float, limit: asyncio.Timeout) -> Generator[ActiveCall]:
        call = ActiveCall(behalf, timeout, limit)
        self._live.append(call)
        token = _CALL.set(call)
        try:
            yield call
        finally:
            _CALL.reset(token)
            self._live.remove(call)
            call.end()

    def find_caller(self) -> ActiveCall | None:
        """Return the call that a message from the server belongs to, if that call can have a user. Pipes do not tell
        which call a question is about: then it is the newest one."""
        call = _CALL.get()
        if call in self._live:
            return call if call.behalf.chat else None
        return next((call for call in reversed(self._live) if call.behalf.chat), None)


def _now() -> float:
    return asyncio.get_running_loop().time()
