"""Joins a page of a panel to the engine. Messages pass unchanged, except for what only the kernel can do: the
kernel's code and variables, and the Python functions that are lent as tools. `link` makes it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import CANCEL, ErrorCode, ErrorResponse, Message, Notification, Request, Result
from jupyter_eca.protocol.notebook import KernelExecuteParams, KernelVariablesParams
from jupyter_eca.protocol.tool import ToolCallParams, ToolLendParams

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from jupyter_eca.protocol.jsonrpc import Id
    from jupyter_eca.transport.eca_client import LiveKernel, ToolLender
    from jupyter_eca.transport.link import Link

# Requests of the kernel on the page's link have ids that begin with this; the ids of a page are numbers.
_OURS = "eca-kernel-"


class PassingMessages(Protocol):
    """Observes the messages that pass between a page and the engine."""

    def add_page_message(self, method: str, params: Any) -> None: ...

    def add_engine_message(self, method: str, params: Any) -> None: ...


class PanelBridge:
    def __init__(
        self, page: Link, engine: Link, kernel: LiveKernel, lending: ToolLender, ears: PassingMessages
    ) -> None:
        self._page = page
        self._engine = engine
        self._kernel = kernel
        self._lending = lending
        self._ears = ears
        self._lent = 0
        self._serving: dict[Id, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Run until one side leaves; then leave the other side too."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                ways = self._tasks.create_task(self._up()), self._tasks.create_task(self._down())
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for task in (*ways, *self._serving.values()):
                    task.cancel()
        finally:
            await self._engine.close()
            await self._page.close()

    async def _up(self) -> None:
        async for message in self._page:
            match message:
                case FrameError():
                    await self._page.send(ErrorResponse(None, message.code, str(message)))
                case Request(id, "initialize", {**params}):
                    await self._engine.send(Request(id, "initialize", _as_kernel(params)))
                case Request(_, method, params) | Notification(method, params):
                    if method == "chat/prompt":
                        await self._lend()
                    self._ears.add_page_message(method, params)
                    await self._engine.send(message)
                case _:
                    await self._engine.send(message)

    async def _lend(self) -> None:
        """Lend the Python functions again: there may be new ones since the last question."""
        if self._lending.version != self._lent:
            self._lent = self._lending.version
            params = ToolLendParams(tools=self._lending.tools()).wire()
            await self._engine.send(Request(f"{_OURS}{self._lent}", "tool/lend", params))

    async def _down(self) -> None:
        async for message in self._engine:
            match message:
                case Request(id, method, params) if method in _SERVED:
                    self._serving[id] = self._tasks.create_task(self._serve(id, _SERVED[method](self, params)))
                case Notification(method, {"id": str() | int() as id}) if method == CANCEL and id in self._serving:
                    self._serving[id].cancel()
                case Result(str() as id) | ErrorResponse(str() as id) if id.startswith(_OURS):
                    pass
                case FrameError():
                    pass
                case _:
                    if isinstance(message, Notification):
                        self._ears.add_engine_message(message.method, message.params)
                    await self._page.send(message)

    async def _serve(self, id: Id, work: Coroutine[Any, Any, Any]) -> None:
        answer: Message
        try:
            answer = Result(id, await work)
        except asyncio.CancelledError:
            answer = ErrorResponse(id, ErrorCode.CANCELLED, "it was taken back")
            await self._engine.send(answer)
            raise
        except ValidationError as error:
            answer = ErrorResponse(id, ErrorCode.INVALID_PARAMS, str(error))
        finally:
            self._serving.pop(id, None)
        await self._engine.send(answer)

    async def execute(self, params: Any) -> Any:
        return (await self._kernel.execute(KernelExecuteParams.model_validate(params).code)).wire()

    async def variables(self, params: Any) -> Any:
        return (await self._kernel.variables(KernelVariablesParams.model_validate(params).names)).wire()

    async def call(self, params: Any) -> Any:
        called = ToolCallParams.model_validate(params)
        return (await self._lending.call(called.name, called.arguments)).wire()


_SERVED: dict[str, Callable[[PanelBridge, Any], Coroutine[Any, Any, Any]]] = {
    "kernel/execute": PanelBridge.execute,
    "kernel/variables": PanelBridge.variables,
    "tool/call": PanelBridge.call,
}


def _as_kernel(params: dict[str, Any]) -> dict[str, Any]:
    capabilities: dict[str, Any] = params.get("capabilities") or {}
    can: dict[str, Any] = capabilities.get("codeAssistant") or {}
    return {**params, "capabilities": {**capabilities, "codeAssistant": {**can, "kernel": True}}}
