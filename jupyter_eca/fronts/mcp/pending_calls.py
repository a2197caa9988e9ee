"""Owns the running calls of tools over MCP (Model Context Protocol), and the questions that they ask the client's user.
MCP calls such a question an elicitation.

A question is asked in one of two ways. In versions of the protocol with a handshake, the client gets the request
`elicitation/create` while the call runs. In the stateless version, the client gets the question as the result of the
call, and sends the call again together with the answer. The work continues between the two requests, and is found again
by its id. This module must not know what a call does: `server.py` starts the work.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from jupyter_eca.fronts.client_access import FULL_ACCESS, read_access

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from pydantic import BaseModel

    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.fronts.mcp.offers_base import OfferResult
    from jupyter_eca.protocol.event import Person

    Context = ServerRequestContext[Any, Any]
    """The SDK's context of a request: its connection, its version of the protocol, and the HTTP request."""

# Seconds that a question waits until the client sends the call again. A client may never do so.
ANSWER_SECONDS: Final = 300.0

# The key of the question and its answer. A call asks one question at a time.
_QUESTION: Final = "question"


def find_access(context: Context) -> ClientAccess:
    """Return what the client of a request may do. Over stdio there is no HTTP request, and the client may do all."""
    return FULL_ACCESS if context.request is None else read_access(context.request.scope)


class CallInProgress:
    """One call of a tool. It is also the `Caller` that the tool gets. In the stateless version, a call may take several
    requests."""

    def __init__(
        self, context: Context, work: Callable[[CallInProgress], Awaitable[OfferResult]], tasks: asyncio.TaskGroup
    ) -> None:
        """Start the work of the call as a child of `tasks`. `context` is the context of its first request."""
        self.id = uuid.uuid4().hex
        """The id by which the client names the call in its next request."""
        self.context = context
        """The context of the newest request of the call."""
        # The question that waits for its answer in the stateless version, and the future of the answer.
        self._question: types.ElicitRequestFormParams | None = None
        self._answer: asyncio.Future[types.ElicitResult] | None = None
        # Set while a question waits to be sent as a result.
        self._asked = asyncio.Event()
        # Held while a question waits for its answer, so that a second question comes after it.
        self._asking = asyncio.Lock()
        self.work = tasks.create_task(self._run(work))
        """The task that does the work. Its result is the result of the call, or the error that the work raised."""

    # -- the caller

    @property
    def name(self) -> str:
        """The name of the client's program, or ""."""
        client = self.context.session.client_params
        return (client.client_info.title or client.client_info.name) if client else ""

    @property
    def user(self) -> Person | None:
        """The user of the client; None on a server that does not tell its users apart."""
        return find_access(self.context).user

    @property
    def can_ask(self) -> bool:
        """Whether the client can ask its user a question, and the answer counts as the user's."""
        capabilities = self.context.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None or not find_access(self.context).may_approve:
            return False
        # A client that declares neither forms nor URLs supports forms: these were the only kind in the first version.
        has_forms = capabilities.elicitation.form is not None or capabilities.elicitation.url is None
        return has_forms and (self._is_stateless or self.context.session.can_send_request)

    async def report_progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to the client, if it has asked for progress."""
        await self.context.session.report_progress(done, total, message)

    async def ask(self, question: types.ElicitRequestFormParams) -> types.ElicitResult | None:
        """Ask the client's user. Return None when this is impossible, or no answer comes in time."""
        if not self.can_ask:
            return None
        if self._is_stateless:
            return await self._ask_by_result(question)
        session, id = self.context.session, self.context.request_id
        with suppress(MCPError):  # some clients declare this capability and do not have it
            return await session.elicit_form(question.message, question.requested_schema, related_request_id=id)
        return None

    @property
    def _is_stateless(self) -> bool:
        """Whether the client uses the stateless version of the protocol."""
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _ask_by_result(self, question: types.ElicitRequestFormParams) -> types.ElicitResult | None:
        """Wait until the question was sent as a result, and the client has sent the call again with the answer, which
        is returned. Return None if the answer does not come in time."""
        async with self._asking:
            self._question, self._answer = question, asyncio.get_running_loop().create_future()
            self._asked.set()
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    return await self._answer
            except TimeoutError:
                return None
            finally:
                self._question = self._answer = None
                self._asked.clear()

    # -- its requests

    async def _run(self, work: Callable[[CallInProgress], Awaitable[OfferResult]]) -> OfferResult | Exception:
        """Do the work. Return its result, or the error that it raised."""
        try:
            return await work(self)
        except Exception as error:  # noqa: BLE001  # `request` raises it again
            return error

    async def request(self, context: Context, params: types.CallToolRequestParams) -> OfferResult:
        """Handle one request of the call. Return the result of the work, or the question that it asks. Raises the
        error of the work."""
        self.context = context
        self._take_answer((params.input_responses or {}).get(_QUESTION))
        question = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait((self.work, question), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.cancel()
            raise
        finally:
            question.cancel()
        if self._question is None or self.work.done():
            result = await self.work
            if isinstance(result, Exception):
                raise result
            return result
        request = types.ElicitRequest(params=self._question)
        return types.InputRequiredResult(input_requests={_QUESTION: request}, request_state=self.id)

    def _take_answer(self, answer: BaseModel | None) -> None:
        """Pass the answer in a request on to `_ask_by_result`, if a question waits for it."""
        if isinstance(answer, types.ElicitResult) and self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)
            self._asked.clear()

    async def cancel(self) -> None:
        """Cancel the work, and wait until it has ended."""
        self.work.cancel()
        await asyncio.wait((self.work,))


class CallsInProgress:
    """All calls that run."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        """Make an empty table of calls. Their work runs as children of `tasks`."""
        self._tasks = tasks
        self._calls: dict[str, CallInProgress] = {}  # by the id of the call

    async def request(
        self,
        context: Context,
        params: types.CallToolRequestParams,
        work: Callable[[CallInProgress], Awaitable[OfferResult]],
    ) -> OfferResult:
        """Handle one request. Start `work`, unless an earlier request of the same call has started it. Return the
        result of the work, or the question that it asks. Raises the error of the work."""
        call = self._calls.get(params.request_state or "")
        if call is None:
            call = CallInProgress(context, work, self._tasks)
            id = call.id
            self._calls[id] = call
            call.work.add_done_callback(lambda _: self._calls.pop(id, None))
        return await call.request(context, params)

    async def end(self) -> None:
        """Cancel all calls."""
        for call in list(self._calls.values()):
            await call.cancel()
