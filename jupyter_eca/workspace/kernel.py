"""A kernel spoken to by its own client, from outside: any kernel a Jupyter kernel manager has started."""

from __future__ import annotations

import ast
import asyncio
import inspect
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult, RunStatus
from jupyter_eca.workspace import introspect
from jupyter_eca.workspace.outputs import Outputs

if TYPE_CHECKING:
    from collections.abc import Awaitable


class Manager(Protocol):
    """What is needed of jupyter_client's AsyncKernelManager."""

    def is_alive(self) -> Awaitable[bool]: ...

    def interrupt_kernel(self) -> Awaitable[None]: ...


class Channels(Protocol):
    """What is needed of jupyter_client's AsyncKernelClient."""

    def execute_interactive(self, **request: Any) -> Awaitable[dict[str, Any]]: ...

    def stop_channels(self) -> None: ...


# Seconds between two looks at whether the kernel still lives while it runs our code.
ALIVE_EVERY = 1.0

_STATUS = {"ok": RunStatus.OK, "error": RunStatus.ERROR}

_DIED = "The kernel died while it ran this. Its variables are gone."


class ClientKernel:
    """One kernel and a client whose channels are open."""

    def __init__(self, manager: Manager, client: Channels) -> None:
        self._manager = manager
        self._client = client
        # Two requests at once would take each other's messages off the channels, and one of them would never end.
        self._turn = asyncio.Lock()

    async def execute(self, code: str) -> KernelExecuteResult:
        """Raises: ToolError when the kernel is dead or dies. Cancelling interrupts the code, but never a cell of the
        user's that the code is still queued behind."""
        outputs = Outputs()
        started = False

        def take(message: dict[str, Any]) -> None:
            nonlocal started
            started = True
            outputs.add(message["header"]["msg_type"], message["content"])

        try:
            reply = await self._reply(code=code, silent=False, output_hook=take)
        except asyncio.CancelledError:
            if started:
                await self._manager.interrupt_kernel()
            raise
        status = _STATUS.get(reply["content"]["status"], RunStatus.INTERRUPTED)
        return KernelExecuteResult(status=status, text=outputs.text)

    async def variables(self, names: tuple[str, ...]) -> KernelVariablesResult:
        """Raises: ToolError when the kernel is dead, or not an IPython one."""
        source = inspect.getsource(introspect)
        expression = (
            f"(lambda space: (exec({source!r}, space), space['describe'](get_ipython().user_ns, {list(names)!r},"
            " set(get_ipython().user_ns_hidden)))[1])({'__name__': 'eca'})"
        )
        reply = await self._reply(code="", silent=True, user_expressions={"eca": expression}, output_hook=_ignore)
        result = reply["content"].get("user_expressions", {}).get("eca", {})
        if result.get("status") != "ok":
            raise ToolError(f"This kernel's variables cannot be read: {result.get('evalue', 'no answer')}.")
        return KernelVariablesResult.model_validate_json(ast.literal_eval(result["data"]["text/plain"]))

    async def _reply(self, **request: Any) -> dict[str, Any]:
        async with self._turn:
            if not await self._manager.is_alive():
                raise ToolError(_DIED)
            # A failure of ours must not abort what is queued behind it: cells of the user's, or our own next request.
            ours = {"store_history": False, "allow_stdin": False, "stop_on_error": False, "timeout": None}
            work = asyncio.ensure_future(self._client.execute_interactive(**ours, **request))
            try:
                while not (await asyncio.wait((work,), timeout=ALIVE_EVERY))[0]:
                    if not await self._manager.is_alive():
                        raise ToolError(_DIED)
                return work.result()
            finally:
                work.cancel()

    def close(self) -> None:
        self._client.stop_channels()


def _ignore(_message: dict[str, Any]) -> None:
    pass
