"""Owns the running calls. A call that asks its caller something gets the answer in one of two ways.

In protocol versions with a handshake, the client gets `elicitation/create` while the call runs. In the stateless
version, the client gets the question as the result of the call, and makes the call again with the answer. The work
continues in between, and is found again by its id. It must not know what a call does (`server.py`).
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from pydantic import BaseModel

    from jupyter_eca.fronts.mcp.offers_base import Outcome

    Context = ServerRequestContext[Any, Any]

# Seconds that a question waits for the call to be made again. That may never happen.
PATIENCE: Final = 300.0

_QUESTION: Final = "question"


def _may_approve(context: Context) -> bool:
    """Return whether the answer of this client counts as its user's. See `fronts.base.Front`."""
    return context.request is None or context.request.scope.get("approves") is not False


class CallInProgress:
    """One call of a tool, as a `Caller`, over all the requests that it takes."""

    def __init__(
        self, context: Context, work: Callable[[CallInProgress], Awaitable[Outcome]], tasks: asyncio.TaskGroup
    ) -> None:
        self.id = uuid.uuid4().hex
        self.context = context
        self._question: types.ElicitRequestFormParams | None = None
        self._answer: asyncio.Future[types.ElicitResult] | None = None
        self._asked = asyncio.Event()
        self._asking = asyncio.Lock()
        self.work = tasks.create_task(self._run(work))

    # -- the caller

    @property
    def name(self) -> str:
        client = self.context.session.client_params
        return (client.client_info.title or client.client_info.name) if client else ""

    @property
    def can_ask(self) -> bool:
        can = self.context.session.client_capabilities
        if can is None or can.elicitation is None or not _may_approve(self.context):
            return False
        # An empty declaration means forms: there was nothing else when it was introduced.
        form = can.elicitation.form is not None or can.elicitation.url is None
        return form and (self._modern or self.context.session.can_send_request)

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        await self.context.session.report_progress(done, total, message)

    async def ask(self, question: types.ElicitRequestFormParams) -> types.ElicitResult | None:
        if not self.can_ask:
            return None
        if self._modern:
            return await self._ask_by_result(question)
        session, id = self.context.session, self.context.request_id
        with suppress(MCPError):  # the client may have declared a capability that it does not have
            return await session.elicit_form(question.message, question.requested_schema, related_request_id=id)
        return None

    @property
    def _modern(self) -> bool:
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _ask_by_result(self, question: types.ElicitRequestFormParams) -> types.ElicitResult | None:
        async with self._asking:
            self._question, self._answer = question, asyncio.get_running_loop().create_future()
            self._asked.set()
            try:
                async with asyncio.timeout(PATIENCE):
                    return await self._answer
            except TimeoutError:
                return None
            finally:
                self._question = self._answer = None
                self._asked.clear()

    # -- its requests

    async def _run(self, work: Callable[[CallInProgress], Awaitable[Outcome]]) -> Outcome | Exception:
        try:
            return await work(self)
        except Exception as error:  # noqa: BLE001  # it is raised by the request that waits for it
            return error

    async def request(self, context: Context, params: types.CallToolRequestParams) -> Outcome:
        """Return the outcome of one request. Raises: whatever the work raises."""
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
            outcome = await self.work
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        request = types.ElicitRequest(params=self._question)
        return types.InputRequiredResult(input_requests={_QUESTION: request}, request_state=self.id)

    def _take_answer(self, answer: BaseModel | None) -> None:
        if isinstance(answer, types.ElicitResult) and self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)
            self._asked.clear()

    async def cancel(self) -> None:
        self.work.cancel()
        await asyncio.wait((self.work,))


class CallsInProgress:
    """All calls that run, as children of `tasks`."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._waiting: dict[str, CallInProgress] = {}

    async def request(
        self,
        context: Context,
        params: types.CallToolRequestParams,
        work: Callable[[CallInProgress], Awaitable[Outcome]],
    ) -> Outcome:
        """Handle one request. `work` is started, unless an earlier request of the same call has started it."""
        call = self._waiting.get(params.request_state or "")
        if call is None:
            call = CallInProgress(context, work, self._tasks)
            id, self._waiting[call.id] = call.id, call
            call.work.add_done_callback(lambda _: self._waiting.pop(id, None))
        return await call.request(context, params)

    async def end(self) -> None:
        for call in list(self._waiting.values()):
            await call.cancel()
