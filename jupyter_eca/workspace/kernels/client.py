"""A kernel spoken to by its own client, from outside: any kernel a Jupyter kernel manager has started."""

from __future__ import annotations

import ast
import asyncio
import inspect
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import (
    Inspection,
    KernelExecuteResult,
    KernelState,
    KernelVariablesResult,
    RunStatus,
)
from jupyter_eca.workspace.kernels import introspect, languages
from jupyter_eca.workspace.kernels.output_text import Outputs, plain
from jupyter_eca.workspace.kernels.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from jupyter_eca.workspace.ports import Heard


class KernelManager(Protocol):
    """What is needed of jupyter_client's AsyncKernelManager."""

    @property
    def provisioner(self) -> Any: ...

    def is_alive(self) -> Awaitable[bool]: ...

    def interrupt_kernel(self) -> Awaitable[None]: ...


class KernelChannels(Protocol):
    """What is needed of jupyter_client's AsyncKernelClient."""

    def execute_interactive(self, **request: Any) -> Awaitable[dict[str, Any]]: ...

    def inspect(self, code: str, **request: Any) -> Awaitable[dict[str, Any]]: ...

    def kernel_info(self) -> str: ...

    def get_iopub_msg(self, *, timeout: float | None) -> Awaitable[dict[str, Any]]: ...

    def stop_channels(self) -> None: ...


# Seconds between two looks at whether the kernel still lives while it runs our code.
ALIVE_INTERVAL = 1.0

# Seconds between the first two questions to a kernel that was not heard yet, and at most between two.
FIRST_PATIENCE = 0.25
MAX_PATIENCE = 5.0

# Seconds that an interrupted cell has to say its last words.
INTERRUPT_GRACE = 5.0

_STATUS = {"ok": RunStatus.OK, "error": RunStatus.ERROR}

_FIRST_COMPLETED = asyncio.FIRST_COMPLETED

_KERNEL_DIED = "The kernel died while it ran this. Its variables are gone."


class ClientKernel:
    """One kernel and a client whose channels are open. `language` is empty where the kernel is the notebook's own."""

    def __init__(self, manager: KernelManager, client: KernelChannels, language: str = "") -> None:
        self.language = language
        self._manager = manager
        self._client = client
        # Two requests at once would take each other's messages off the channels, and one of them would never end.
        self._exclusive = asyncio.Lock()
        self._waiting = 0
        self._ended = asyncio.Event()
        # The cell that is run, and since when.
        self._running: tuple[str, float] | None = None
        # The process that was last heard on the channel of outputs, in a list: it may be none of this machine.
        self._heard_pids: list[int | None] = []

    async def execute(self, code: str, heard: Heard | None = None) -> KernelExecuteResult:
        """Raises: ToolError when the kernel is dead or dies. Cancelling interrupts the code, but never a cell of the
        user's that the code is still queued behind."""
        outputs, tail = Outputs(), Tail()
        started = False

        def take(message: dict[str, Any]) -> None:
            nonlocal started
            if heard is not None:
                tail.take(message)
                if not started:
                    heard("", lambda: tail.text)
            started = True
            outputs.add(message["header"]["msg_type"], message["content"])

        try:
            reply = await self._request(code=code, silent=False, output_hook=take)
        except asyncio.CancelledError:
            if started:
                await self._manager.interrupt_kernel()
            raise
        status = _STATUS.get(reply["content"]["status"], RunStatus.INTERRUPTED)
        return KernelExecuteResult(status=status, text=outputs.text)

    async def run(self, cell: str, code: str, take: Callable[[dict[str, Any]], None]) -> RunStatus:
        """A cell of a notebook, as by hand; `take` gets all that comes of it. Cancelled, it stays until the kernel has
        said what it was interrupted in. Raises: ToolError when the kernel is dead or dies."""
        started = False

        def hear(message: dict[str, Any]) -> None:
            nonlocal started
            if not started:
                started, self._running = True, (cell, monotonic())
            take(message)

        work = asyncio.ensure_future(self._request(code=code, silent=False, store_history=True, output_hook=hear))
        try:
            reply = await asyncio.shield(work)
        except asyncio.CancelledError:
            if started:
                await self._manager.interrupt_kernel()
                await asyncio.wait((work,), timeout=INTERRUPT_GRACE)
            raise
        finally:
            self._running = None
            work.cancel()
            if work.done() and not work.cancelled():
                work.exception()  # nobody is left to be told of it when this was cancelled
        return _STATUS.get(reply["content"]["status"], RunStatus.INTERRUPTED)

    @property
    def is_busy(self) -> bool:
        """With something of ours."""
        return self._exclusive.locked()

    def state(self, status: str, language: str) -> KernelState:
        """Jupyter's own word for it, and what is known here."""
        cell, since = self._running or (None, None)
        busy = int((monotonic() - since) * 1000) if since is not None else None
        return KernelState(status=status, language=language, cell=cell, busy_ms=busy, queued=self._waiting)

    async def inspect(self, name: str, language: str = "") -> Inspection:
        """Raises: ToolError when the kernel is dead or dies."""
        if (program := languages.build_inspection_program(language, name)) is not None:
            return Inspection.model_validate_json(await self._run_program(program))

        async def ask() -> dict[str, Any]:
            return await self._client.inspect(name, cursor_pos=len(name), detail_level=1, reply=True, timeout=None)

        content = (await self._run_exclusively(ask))["content"]
        found = content.get("status") == "ok" and bool(content.get("found"))
        return Inspection(found=found, text=plain(content["data"].get("text/plain", "")) if found else "")

    async def variables(self, names: tuple[str, ...], language: str = "") -> KernelVariablesResult:
        """Raises: ToolError when the kernel is dead, or of a language that has no program for it."""
        if language not in languages.PYTHON_NAMES:
            return languages.parse_variables(
                await self._run_program(languages.build_variables_program(language, names))
            )
        source = inspect.getsource(introspect)
        expression = (
            f"(lambda space: (exec({source!r}, space), space['describe'](get_ipython().user_ns, {list(names)!r},"
            " set(get_ipython().user_ns_hidden)))[1])({'__name__': 'eca'})"
        )
        reply = await self._request(code="", silent=True, user_expressions={"eca": expression}, output_hook=_ignore)
        result = reply["content"].get("user_expressions", {}).get("eca", {})
        if result.get("status") != "ok":
            raise ToolError(f"This kernel's variables cannot be read: {result.get('evalue', 'no answer')}.")
        return KernelVariablesResult.model_validate_json(ast.literal_eval(result["data"]["text/plain"]))

    async def _run_program(self, program: str) -> str:
        """What a program of ours says; no cell shows it. Raises: ToolError when it fails."""
        result = await self.execute(program)
        if result.status is not RunStatus.OK:
            raise ToolError(f"This kernel cannot be asked what it knows: {result.text.strip().partition(chr(10))[0]}")
        return result.text

    async def _request(self, **request: Any) -> dict[str, Any]:
        # A failure of ours must not abort what is queued behind it: cells of the user's, or our own next request.
        ours = {"store_history": False, "allow_stdin": False, "stop_on_error": False, "timeout": None}

        async def ask() -> dict[str, Any]:
            await self._wait_until_connected()
            return await self._client.execute_interactive(**(ours | request))

        return await self._run_exclusively(ask)

    async def _wait_until_connected(self) -> None:
        """A kernel publishes its outputs to whoever is connected: those of a request that was quicker than the channel
        would be lost, though the reply comes. All kernels say that they answer a question; what else is there to be
        heard may have been said by the process before."""
        process = self._find_pid()
        asked: set[str] = set()
        patience = FIRST_PATIENCE
        while self._heard_pids != [process]:
            asked.add(self._client.kernel_info())
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    while (await self._read_parent_id()) not in asked:
                        pass
                self._heard_pids = [process]
            patience = min(patience * 2, MAX_PATIENCE)  # it may be busy, and would find all of them then

    async def _read_parent_id(self) -> str | None:
        """Which request it is about."""
        return (await self._client.get_iopub_msg(timeout=None))["parent_header"].get("msg_id")

    async def _run_exclusively(self, ask: Callable[[], Coroutine[Any, Any, dict[str, Any]]]) -> dict[str, Any]:
        """The reply, as long as the kernel is the process that it was: one that is started again has forgotten us."""
        self._waiting += 1
        try:
            await self._exclusive.acquire()
        finally:
            self._waiting -= 1
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            if self._ended.is_set() or not await self._manager.is_alive():
                raise ToolError(_KERNEL_DIED)
            process = self._find_pid()
            work = asyncio.ensure_future(ask())
            try:
                while (
                    work
                    not in (await asyncio.wait((work, ended), timeout=ALIVE_INTERVAL, return_when=_FIRST_COMPLETED))[0]
                ):
                    if ended.done() or self._find_pid() != process or not await self._manager.is_alive():
                        raise ToolError(_KERNEL_DIED)
                return work.result()
            finally:
                work.cancel()
        finally:
            ended.cancel()
            self._exclusive.release()

    def _find_pid(self) -> int | None:
        """None where kernels are no processes of this machine."""
        return getattr(self._manager.provisioner, "pid", None)

    async def end(self) -> None:
        """Close the channels, once nobody waits for an answer any more."""
        self._ended.set()
        async with self._exclusive:
            self.close()

    def close(self) -> None:
        self._client.stop_channels()


def _ignore(_message: dict[str, Any]) -> None:
    pass
