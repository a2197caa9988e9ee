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


class Manager(Protocol):
    """What is needed of jupyter_client's AsyncKernelManager."""

    @property
    def provisioner(self) -> Any: ...

    def is_alive(self) -> Awaitable[bool]: ...

    def interrupt_kernel(self) -> Awaitable[None]: ...


class Channels(Protocol):
    """What is needed of jupyter_client's AsyncKernelClient."""

    def execute_interactive(self, **request: Any) -> Awaitable[dict[str, Any]]: ...

    def inspect(self, code: str, **request: Any) -> Awaitable[dict[str, Any]]: ...

    def kernel_info(self) -> str: ...

    def get_iopub_msg(self, *, timeout: float | None) -> Awaitable[dict[str, Any]]: ...

    def stop_channels(self) -> None: ...


# Seconds between two looks at whether the kernel still lives while it runs our code.
ALIVE_EVERY = 1.0

# Seconds between the first two questions to a kernel that was not heard yet, and at most between two.
HEARD_EVERY = 0.25
HEARD_MOST = 5.0

# Seconds that an interrupted cell has to say its last words.
LAST_WORDS = 5.0

# Seconds that code which was sent has to be heard of before it is interrupted: it may run already, and its first word
# be under way. What is still silent then is queued behind a cell of the user's.
FIRST_WORD = 2.0

_STATUS = {"ok": RunStatus.OK, "error": RunStatus.ERROR}

_FIRST = asyncio.FIRST_COMPLETED

_DIED = "The kernel died while it ran this. Its variables are gone."


class ClientKernel:
    """One kernel and a client whose channels are open. `language` is empty where the kernel is the notebook's own."""

    def __init__(self, manager: Manager, client: Channels, language: str = "") -> None:
        self.language = language
        self._manager = manager
        self._client = client
        # Two requests at once would take each other's messages off the channels, and one of them would never end.
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._ended = asyncio.Event()
        # The cell that is run, and since when.
        self._running: tuple[str, float] | None = None
        # The process that was last heard on the channel of outputs, in a list: it may be none of this machine.
        self._heard: list[int | None] = []

    async def execute(self, code: str, heard: Heard | None = None) -> KernelExecuteResult:
        """Raises: ToolError when the kernel is dead or dies. Cancelling interrupts the code, but never a cell of the
        user's that the code is still queued behind."""
        outputs, tail = Outputs(), Tail()
        sent, started = asyncio.Event(), asyncio.Event()

        def take(message: dict[str, Any]) -> None:
            if heard is not None:
                tail.take(message)
                if not started.is_set():
                    heard("", lambda: tail.text)
            started.set()
            outputs.add(message["header"]["msg_type"], message["content"])

        work = asyncio.ensure_future(self._reply(sent, code=code, silent=False, output_hook=take))
        try:
            reply = await asyncio.shield(work)
        except asyncio.CancelledError:
            await self._interrupt(work, sent, started)
            raise
        finally:
            _let_go(work)
        status = _STATUS.get(reply["content"]["status"], RunStatus.INTERRUPTED)
        return KernelExecuteResult(status=status, text=outputs.text)

    async def run(self, cell: str, code: str, take: Callable[[dict[str, Any]], None]) -> RunStatus:
        """A cell of a notebook, as by hand; `take` gets all that comes of it. Cancelled, it stays until the kernel has
        said what it was interrupted in. Raises: ToolError when the kernel is dead or dies."""
        sent, started = asyncio.Event(), asyncio.Event()

        def hear(message: dict[str, Any]) -> None:
            if not started.is_set():
                started.set()
                self._running = (cell, monotonic())
            take(message)

        work = asyncio.ensure_future(self._reply(sent, code=code, silent=False, store_history=True, output_hook=hear))
        try:
            reply = await asyncio.shield(work)
        except asyncio.CancelledError:
            if await self._interrupt(work, sent, started):
                await asyncio.wait((work,), timeout=LAST_WORDS)
            raise
        finally:
            self._running = None
            _let_go(work)
        return _STATUS.get(reply["content"]["status"], RunStatus.INTERRUPTED)

    async def _interrupt(
        self, work: asyncio.Future[dict[str, Any]], sent: asyncio.Event, started: asyncio.Event
    ) -> bool:
        """Interrupt the kernel in this work. Returns False, and leaves the kernel alone, where the work has not started
        or has ended."""
        if sent.is_set():
            first_word = asyncio.ensure_future(started.wait())
            await asyncio.wait((work, first_word), timeout=FIRST_WORD, return_when=_FIRST)
            first_word.cancel()
        if not started.is_set() or work.done():
            return False
        await self._manager.interrupt_kernel()
        return True

    @property
    def busy(self) -> bool:
        """With something of ours."""
        return self._turn.locked()

    def state(self, status: str, language: str) -> KernelState:
        """Jupyter's own word for it, and what is known here."""
        cell, since = self._running or (None, None)
        busy = int((monotonic() - since) * 1000) if since is not None else None
        return KernelState(status=status, language=language, cell=cell, busy_ms=busy, queued=self._waiting)

    async def inspect(self, name: str, language: str = "") -> Inspection:
        """Raises: ToolError when the kernel is dead or dies."""
        if (program := languages.inspection(language, name)) is not None:
            return Inspection.model_validate_json(await self._printed(program))

        async def ask() -> dict[str, Any]:
            return await self._client.inspect(name, cursor_pos=len(name), detail_level=1, reply=True, timeout=None)

        content = (await self._watched(ask))["content"]
        found = content.get("status") == "ok" and bool(content.get("found"))
        return Inspection(found=found, text=plain(content["data"].get("text/plain", "")) if found else "")

    async def variables(self, names: tuple[str, ...], language: str = "") -> KernelVariablesResult:
        """Raises: ToolError when the kernel is dead, or of a language that has no program for it."""
        if language not in languages.PYTHON:
            return languages.told(await self._printed(languages.variables(language, names)))
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

    async def _printed(self, program: str) -> str:
        """What a program of ours says; no cell shows it. Raises: ToolError when it fails."""
        result = await self.execute(program)
        if result.status is not RunStatus.OK:
            raise ToolError(f"This kernel cannot be asked what it knows: {result.text.strip().partition(chr(10))[0]}")
        return result.text

    async def _reply(self, sent: asyncio.Event | None = None, **request: Any) -> dict[str, Any]:
        # A failure of ours must not abort what is queued behind it: cells of the user's, or our own next request.
        ours = {"store_history": False, "allow_stdin": False, "stop_on_error": False, "timeout": None}

        async def ask() -> dict[str, Any]:
            await self._listening()
            if sent is not None:
                sent.set()
            return await self._client.execute_interactive(**(ours | request))

        return await self._watched(ask)

    async def _listening(self) -> None:
        """A kernel publishes its outputs to whoever is connected: those of a request that was quicker than the channel
        would be lost, though the reply comes. All kernels say that they answer a question; what else is there to be
        heard may have been said by the process before."""
        process = self._process()
        asked: set[str] = set()
        patience = HEARD_EVERY
        while self._heard != [process]:
            asked.add(self._client.kernel_info())
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    while (await self._published()) not in asked:
                        pass
                self._heard = [process]
            patience = min(patience * 2, HEARD_MOST)  # it may be busy, and would find all of them then

    async def _published(self) -> str | None:
        """Which request it is about."""
        return (await self._client.get_iopub_msg(timeout=None))["parent_header"].get("msg_id")

    async def _watched(self, ask: Callable[[], Coroutine[Any, Any, dict[str, Any]]]) -> dict[str, Any]:
        """The reply, as long as the kernel is the process that it was: one that is started again has forgotten us."""
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            if self._ended.is_set() or not await self._manager.is_alive():
                raise ToolError(_DIED)
            process = self._process()
            work = asyncio.ensure_future(ask())
            try:
                while work not in (await asyncio.wait((work, ended), timeout=ALIVE_EVERY, return_when=_FIRST))[0]:
                    if ended.done() or self._process() != process or not await self._manager.is_alive():
                        raise ToolError(_DIED)
                return work.result()
            finally:
                work.cancel()
        finally:
            ended.cancel()
            self._turn.release()

    def _process(self) -> int | None:
        """None where kernels are no processes of this machine."""
        return getattr(self._manager.provisioner, "pid", None)

    async def end(self) -> None:
        """Close the channels, once nobody waits for an answer any more."""
        self._ended.set()
        async with self._turn:
            self.close()

    def close(self) -> None:
        self._client.stop_channels()


def _let_go(work: asyncio.Future[dict[str, Any]]) -> None:
    work.cancel()
    if work.done() and not work.cancelled():
        work.exception()  # nobody is left to be told of it when the caller was cancelled


def _ignore(_message: dict[str, Any]) -> None:
    pass
