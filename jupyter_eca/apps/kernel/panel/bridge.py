"""Connects a page with a panel to the engine, the program that calls the model. Most messages pass unchanged in both
directions.

The exceptions are what only the kernel can do. The bridge answers the engine's requests to run code, to describe
variables and to call Python functions of the user. It also lends these functions to the engine, so that the model can
call them as tools. This module must not know how a link is opened: `widget` opens both.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, cast

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

# The ids of requests that the kernel itself sends on the page's link begin with this. The page's own ids are numbers.
_ID_PREFIX = "eca-kernel-"


class MessageObserver(Protocol):
    """Observes the messages that pass between a page and the engine."""

    def add_page_message(self, method: str, params: Any) -> None:
        """Observe a request or notification of the page."""
        ...

    def add_engine_message(self, method: str, params: Any) -> None:
        """Observe a notification of the engine."""
        ...


class PanelBridge:
    """The connection of one page to the engine."""

    def __init__(
        self, page: Link, engine: Link, kernel: LiveKernel, lending: ToolLender, observer: MessageObserver
    ) -> None:
        """`page` and `engine` are the links to both sides. `kernel` runs code, and `lending` has the Python functions
        of the user that are lent as tools. `observer` sees the messages that pass."""
        self._page = page
        self._engine = engine
        self._kernel = kernel
        self._lending = lending
        self._observer = observer
        self._lent_version = 0  # the version of the functions that were lent last
        self._serving: dict[Id, asyncio.Task[None]] = {}  # the engine's requests that are being answered here, by id

    async def run(self) -> None:
        """Pass messages until one side closes its link. Then close the other link, too."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                directions = (
                    self._tasks.create_task(self._forward_to_engine()),
                    self._tasks.create_task(self._forward_to_page()),
                )
                await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
                for task in (*directions, *self._serving.values()):
                    task.cancel()
        finally:
            await self._engine.close()
            await self._page.close()

    async def _forward_to_engine(self) -> None:
        """Pass the page's messages to the engine."""
        async for message in self._page:
            match message:
                case FrameError():
                    await self._page.send(ErrorResponse(None, message.code, str(message)))
                case Request(id, "initialize", {**params}):
                    await self._engine.send(Request(id, "initialize", _add_kernel_capability(params)))
                case Request(_, method, params) | Notification(method, params):
                    if method == "chat/prompt":
                        await self._lend_changed_functions()
                    self._observer.add_page_message(method, params)
                    await self._engine.send(message)
                case _:
                    await self._engine.send(message)

    async def _lend_changed_functions(self) -> None:
        """Lend the user's Python functions to the engine, if they have changed since the last prompt."""
        if self._lending.version != self._lent_version:
            self._lent_version = self._lending.version
            params = ToolLendParams(tools=self._lending.list_tools()).as_json_object()
            await self._engine.send(Request(f"{_ID_PREFIX}{self._lent_version}", "tool/lend", params))

    async def _forward_to_page(self) -> None:
        """Pass the engine's messages to the page, and serve the requests that only the kernel can answer."""
        async for message in self._engine:
            match message:
                case Request(str() | int() | float() as id, method, params) if method in _HANDLERS:
                    self._serving[id] = self._tasks.create_task(self._serve(id, _HANDLERS[method](self, params)))
                case Notification(method, {"id": str() | int() as id}) if method == CANCEL and id in self._serving:
                    self._serving[id].cancel()
                case Result(str() as id) | ErrorResponse(str() as id) if id.startswith(_ID_PREFIX):
                    pass  # the answer to a request of this bridge, which the page does not know
                case FrameError():
                    pass
                case _:
                    if isinstance(message, Notification):
                        self._observer.add_engine_message(message.method, message.params)
                    await self._page.send(message)

    async def _serve(self, id: Id, work: Coroutine[Any, Any, Any]) -> None:
        """Do the work that a request of the engine asks for, and send its result as the answer."""
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
        """Run code in this kernel, and return its output. `params` and the result are those of the request."""
        return (await self._kernel.execute(KernelExecuteParams.model_validate(params).code)).as_json_object()

    async def variables(self, params: Any) -> Any:
        """Describe variables of this kernel. `params` and the result are those of the request."""
        return (await self._kernel.variables(KernelVariablesParams.model_validate(params).names)).as_json_object()

    async def call(self, params: Any) -> Any:
        """Call a Python function that was lent as a tool. `params` and the result are those of the request."""
        called = ToolCallParams.model_validate(params)
        return (await self._lending.call(called.name, called.arguments)).as_json_object()


# The engine's requests that only the kernel can answer.
_HANDLERS: dict[str, Callable[[PanelBridge, Any], Coroutine[Any, Any, Any]]] = {
    "kernel/execute": PanelBridge.execute,
    "kernel/variables": PanelBridge.variables,
    "tool/call": PanelBridge.call,
}


def _add_kernel_capability(params: dict[str, Any]) -> dict[str, Any]:
    """Return the page's `initialize` parameters with the capability `kernel`, which this bridge provides. Capabilities
    of another shape are left to the engine, which refuses them."""
    capabilities: Any = params.get("capabilities") or {}
    if not isinstance(capabilities, dict):
        return params
    code_assistant: Any = cast("dict[str, Any]", capabilities).get("codeAssistant") or {}
    if not isinstance(code_assistant, dict):
        return params
    return {**params, "capabilities": {**capabilities, "codeAssistant": {**code_assistant, "kernel": True}}}
