"""Talks to one kernel from outside, through a client of jupyter_client. It works for any kernel that a Jupyter kernel
manager has started.

It must not choose or start kernels: `jupyter_server.py` and `local.py` do. The kernel of the cell that asked the
assistant is reached from inside, in `apps/kernel`.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
from contextlib import suppress
from dataclasses import replace
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
from jupyter_eca.workspace.kernels import database, introspect, languages, profile, run_history
from jupyter_eca.workspace.kernels.output_text import OutputText, as_plain_text
from jupyter_eca.workspace.kernels.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from jupyter_eca.workspace.kernels.run_history import KernelCount, KernelHistory
    from jupyter_eca.workspace.ports import RunObserver


class KernelManager(Protocol):
    """The part of jupyter_client's AsyncKernelManager that is used here. It owns the process of the kernel."""

    @property
    def provisioner(self) -> Any:
        """The object that has started the process of the kernel."""
        ...

    def is_alive(self) -> Awaitable[bool]:
        """Return whether the process runs."""
        ...

    def interrupt_kernel(self) -> Awaitable[None]:
        """Interrupt the code that runs."""
        ...


class KernelChannels(Protocol):
    """The part of jupyter_client's AsyncKernelClient that is used here. It sends requests and receives messages."""

    def execute_interactive(self, **request: Any) -> Awaitable[dict[str, Any]]:
        """Run code, call the callbacks with its outputs, and return the reply."""
        ...

    def inspect(self, code: str, **request: Any) -> Awaitable[dict[str, Any]]:
        """Ask for what the kernel knows about the object at a place of the code."""
        ...

    def kernel_info(self) -> str:
        """Ask the kernel what it is. Returns the id of the request."""
        ...

    def get_iopub_msg(self, *, timeout: float | None) -> Awaitable[dict[str, Any]]:
        """Return the next message that the kernel publishes. `timeout` is in seconds."""
        ...

    def stop_channels(self) -> None:
        """Close the connections to the kernel."""
        ...


# Seconds between two checks that the kernel is still alive while it runs our code.
ALIVE_INTERVAL = 1.0

# Seconds to wait for the first message of a kernel before it is asked again. After each request the wait doubles, up to
# `MAX_RETRY_SECONDS`.
FIRST_RETRY_SECONDS = 0.25
MAX_RETRY_SECONDS = 5.0

# Seconds to wait for the last messages of interrupted code.
INTERRUPT_GRACE = 5.0

# Seconds without a message after which an interrupt is sent again. Python can lose one: a signal that arrives just
# before a system call that waits, such as that of `time.sleep`, is not seen before the call ends. About one interrupt
# in 3,000 was lost on a busy machine when it was sent just before a sleep.
INTERRUPT_AGAIN = 3.0

# When code is cancelled before its first message came: seconds to wait for that message. The code may already run while
# its message is on the way. If no message comes in this time, the code is queued behind a cell of the user, and the
# kernel is not interrupted.
FIRST_MESSAGE_WAIT = 2.0

# Seconds that an idle kernel has to report what ran in it. It is short, because a tool that reads the notebook waits
# for the report.
HISTORY_SECONDS = 1.0

# The status in the reply of a kernel, and ours. Any other status means that the code was interrupted.
_STATUS = {"ok": RunStatus.OK, "error": RunStatus.ERROR}

_FIRST_COMPLETED = asyncio.FIRST_COMPLETED

# The error for the model when the process of the kernel has ended or was replaced.
_KERNEL_DIED = "The kernel died while it ran this. Its variables are gone."


class ClientKernel:
    """Sends requests to one kernel. Implements the interface `CellKernel` of `workspace/ports.py`.

    The channels of `client` must be open. `language` is that of a kernel which runs the cells of all notebooks (see
    `local.py`). It is empty for a notebook's own kernel, which has the language of its notebook.
    """

    def __init__(self, manager: KernelManager, client: KernelChannels, language: str = "") -> None:
        self.language = language
        self._manager = manager
        self._client = client
        # Held during a request. Two requests at a time would take each other's messages off the channels, and one of
        # them would never end.
        self._exclusive = asyncio.Lock()
        # The number of requests that wait for another one to end.
        self._waiting = 0
        # Set when the kernel is shut down.
        self._ended = asyncio.Event()
        # The id of the cell that runs, and when it began.
        self._running: tuple[str, float] | None = None
        # The id of the process from which the channel of outputs last received a message; empty before the first
        # message. It is a list of at most one, because the id itself is None where it is not known.
        self._heard_pids: list[int | None] = []
        # The process id at the last request for the history, and the history. See `history`.
        self._history: tuple[int | None, KernelHistory | None] = (None, None)

    async def execute(self, code: str, observer: RunObserver | None = None) -> KernelExecuteResult:
        """Run code and return its outputs as text.

        Cancelling interrupts the code. But if the code is still queued behind a cell of the user, that cell is not
        interrupted.

        Raises: ToolError when the kernel is dead, or dies.
        """
        outputs, tail, progress = OutputText(pictures=True), Tail(), _Progress()

        def on_message(message: dict[str, Any]) -> None:
            """Add a message of the code to its outputs, and tell the observer when the code begins."""
            if observer is not None:
                tail.add_message(message)
                if not progress.started.is_set():
                    observer("", lambda: tail.text)  # no id of a cell: the code is in none
            progress.note_message()
            outputs.add(message["header"]["msg_type"], message["content"])

        work = asyncio.ensure_future(self._request(progress.sent, code=code, silent=False, output_hook=on_message))
        try:
            reply = await asyncio.shield(work)
        except asyncio.CancelledError:
            await self._interrupt(work, progress)
            raise
        finally:
            _discard(work)
        status = _STATUS.get(reply["content"]["status"], RunStatus.INTERRUPTED)
        return KernelExecuteResult(status=status, text=outputs.text, pictures=outputs.pictures)

    async def run(self, cell: str, code: str, on_message: Callable[[dict[str, Any]], None]) -> RunStatus:
        """Run a cell of a notebook as if the user ran it. `cell` is its id, and `code` its source. `on_message` is
        called with each message of the cell.

        When the caller is cancelled, the cell is interrupted first, and its last messages are passed to `on_message`.

        Raises: ToolError when the kernel is dead, or dies.
        """
        progress = _Progress()

        def note_and_pass_on(message: dict[str, Any]) -> None:
            """Note that a message of the cell came, and pass it on. The first message means that the cell has begun."""
            if not progress.started.is_set():
                self._running = (cell, monotonic())
            progress.note_message()
            on_message(message)

        request = self._request(
            progress.sent, code=code, silent=False, store_history=True, output_hook=note_and_pass_on
        )
        work = asyncio.ensure_future(request)
        try:
            reply = await asyncio.shield(work)
        except asyncio.CancelledError:
            await self._interrupt(work, progress)
            raise
        finally:
            self._running = None
            _discard(work)
        return _STATUS.get(reply["content"]["status"], RunStatus.INTERRUPTED)

    async def _interrupt(self, work: asyncio.Future[dict[str, Any]], progress: _Progress) -> None:
        """Interrupt the kernel if it runs this work now, and wait for the last messages of the work."""
        if progress.sent.is_set():
            first_message = asyncio.ensure_future(progress.started.wait())
            await asyncio.wait((work, first_message), timeout=FIRST_MESSAGE_WAIT, return_when=_FIRST_COMPLETED)
            first_message.cancel()
        if not progress.started.is_set() or work.done():
            return
        count = progress.message_count
        with suppress(ToolError):  # the gateway of the kernel cannot be used: the turn is stopped in any case
            await self._manager.interrupt_kernel()
            _, waiting = await asyncio.wait((work,), timeout=INTERRUPT_AGAIN)
            if waiting and progress.message_count == count:
                await self._manager.interrupt_kernel()
        await asyncio.wait((work,), timeout=INTERRUPT_GRACE - INTERRUPT_AGAIN)

    @property
    def is_busy(self) -> bool:
        """Whether a request of ours is running."""
        return self._exclusive.locked()

    def state(self, status: str, language: str) -> KernelState:
        """Return the state of the kernel. `status` is Jupyter's execution state, such as `idle`. What is known here
        about the running cell is added."""
        cell, since = self._running or (None, None)
        busy_ms = int((monotonic() - since) * 1000) if since is not None else None
        return KernelState(status=status, language=language, cell=cell, busy_ms=busy_ms, queued=self._waiting)

    async def inspect(self, name: str, language: str = "") -> Inspection:
        """Return what the kernel knows about a name. `language` is the language that the kernel or its specification
        names, in lower case; empty if it is not known, and then the kernel is treated as one of Python.

        Raises: ToolError when the kernel is dead, or dies.
        """
        if (program := languages.build_inspection_program(language, name)) is not None:
            return Inspection.model_validate_json(await self._run_program(program))

        async def send() -> dict[str, Any]:
            """Send Jupyter's inspect request, and return the reply."""
            return await self._client.inspect(name, cursor_pos=len(name), detail_level=1, reply=True, timeout=None)

        content = (await self._run_exclusively(send))["content"]
        is_known = content.get("status") == "ok" and bool(content.get("found"))
        return Inspection(found=is_known, text=as_plain_text(content["data"].get("text/plain", "")) if is_known else "")

    async def variables(self, names: tuple[str, ...], language: str = "") -> KernelVariablesResult:
        """Describe the variables with these names; without names, all variables of the user. See `inspect` for
        `language`.

        Raises: ToolError when the kernel is dead, or its language has no program that lists variables.
        """
        if language not in languages.PYTHON_NAMES:
            return languages.parse_variables(
                await self._run_program(languages.build_variables_program(language, names))
            )
        # A Python kernel evaluates one expression, which defines no name in the user's namespace. It executes the
        # sources of our modules, and then calls `describe` of the first. Only variables that are requested by name have
        # a profile or tables. Each module has a namespace of its own, because some of their names are the same.
        sources = [
            inspect.getsource(introspect),
            inspect.getsource(profile) if names else "profile = None",
            inspect.getsource(database) if names else "describe_database = None",
        ]
        expression = (
            "(lambda spaces, sources: ([exec(*pair) for pair in zip(sources, spaces)],"
            f" spaces[0]['describe'](get_ipython().user_ns, {list(names)!r}, set(get_ipython().user_ns_hidden),"
            " spaces[1]['profile'], spaces[2]['describe_database']))[1])"
            f"([{{'__name__': 'eca'}} for _ in range({len(sources)})], {sources!r})"
        )
        reply = await self._request(code="", silent=True, user_expressions={"eca": expression}, output_hook=_ignore)
        result = reply["content"].get("user_expressions", {}).get("eca", {})
        if result.get("status") != "ok":
            raise ToolError(f"This kernel's variables cannot be read: {result.get('evalue', 'no answer')}.")
        return KernelVariablesResult.model_validate_json(ast.literal_eval(result["data"]["text/plain"]))

    async def history(self, language: str, *, busy: bool) -> KernelHistory | KernelCount | None:
        """Return what ran since the process of the kernel started; for a kernel that is not Python, only how many cells
        ran. Return None when it is unknown. `busy` says whether Jupyter reports the kernel as busy. A busy kernel is
        not asked. Then the last history of a Python kernel is returned, if the process is still the same. It is marked
        as incomplete."""
        is_python = language in languages.PYTHON_NAMES
        pid = self._get_pid()
        if not (busy or self.is_busy):
            expressions = {"eca": run_history.HISTORY_EXPRESSION} if is_python else {}
            try:
                async with asyncio.timeout(HISTORY_SECONDS):
                    reply = await self._request(code="", silent=True, user_expressions=expressions, output_hook=_ignore)
            except TimeoutError:
                return None
            if not is_python:
                return run_history.read_count(language, reply["content"])
            result = reply["content"].get("user_expressions", {}).get("eca", {})
            text = ast.literal_eval(result["data"]["text/plain"]) if result.get("status") == "ok" else ""
            self._history = (pid, run_history.parse_history(text))
            return self._history[1]
        earlier_pid, history = self._history
        if history is None or earlier_pid != pid:
            return None
        return replace(history, is_complete=False)

    async def _run_program(self, program: str) -> str:
        """Run one of our programs in the kernel and return what it prints. No cell shows the output.

        Raises: ToolError when the program fails.
        """
        result = await self.execute(program)
        if result.status is not RunStatus.OK:
            raise ToolError(f"This kernel cannot be asked what it knows: {result.text.strip().partition(chr(10))[0]}")
        return result.text

    async def _request(self, sent: asyncio.Event | None = None, **request: Any) -> dict[str, Any]:
        """Send an execute request and return the reply. `sent` is set when the request is sent to the kernel. `request`
        are the arguments of jupyter_client's `execute_interactive`."""
        # `stop_on_error`: an error in our request must not abort the requests queued behind it.
        defaults = {"store_history": False, "allow_stdin": False, "stop_on_error": False, "timeout": None}

        async def send() -> dict[str, Any]:
            """Send the execute request, and return the reply when the code has ended."""
            await self._wait_until_connected()
            if sent is not None:
                sent.set()
            return await self._client.execute_interactive(**(defaults | request))

        return await self._run_exclusively(send)

    async def _wait_until_connected(self) -> None:
        """Wait until the channel of outputs is connected to the current process of the kernel.

        A kernel publishes outputs only to the clients that are connected at that moment. If a request is sent before
        that, its reply arrives, but its outputs are lost. So the kernel is asked for its info until the status arrives
        that each kernel publishes for such a request. Other messages do not count, because the process before a restart
        may have sent them.
        """
        pid = self._get_pid()
        requests: set[str] = set()
        seconds = FIRST_RETRY_SECONDS
        while self._heard_pids != [pid]:
            requests.add(self._client.kernel_info())
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while (await self._read_parent_id()) not in requests:
                        pass
                self._heard_pids = [pid]
            seconds = min(seconds * 2, MAX_RETRY_SECONDS)  # all these requests wait in the queue of a busy kernel

    async def _read_parent_id(self) -> str | None:
        """Wait for the next published message, and return the id of the request that it belongs to; None for a message
        that belongs to no request."""
        return (await self._client.get_iopub_msg(timeout=None))["parent_header"].get("msg_id")

    async def _run_exclusively(self, send: Callable[[], Coroutine[Any, Any, dict[str, Any]]]) -> dict[str, Any]:
        """Send a request as soon as no other request is running, and return its reply. `send` sends the request and
        waits for the reply.

        Raises: ToolError when the process of the kernel ends or is replaced meanwhile. A restarted kernel does not know
        the request, and would never reply.
        """
        self._waiting += 1
        try:
            await self._exclusive.acquire()
        finally:
            self._waiting -= 1
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            if self._ended.is_set() or not await self._manager.is_alive():
                raise ToolError(_KERNEL_DIED)
            pid = self._get_pid()
            work = asyncio.ensure_future(send())
            try:
                while True:
                    await asyncio.wait((work, ended), timeout=ALIVE_INTERVAL, return_when=_FIRST_COMPLETED)
                    if work.done():
                        return work.result()
                    if ended.done() or self._get_pid() != pid or not await self._manager.is_alive():
                        raise ToolError(_KERNEL_DIED)
            finally:
                work.cancel()
        finally:
            ended.cancel()
            self._exclusive.release()

    def _get_pid(self) -> int | None:
        """Return the process id of the kernel; for a kernel behind a gateway, a number that changes when the kernel is
        restarted. Return None where neither is known. Equal results mean that the process is still the same."""
        return getattr(self._manager.provisioner, "pid", None)

    async def end(self) -> None:
        """End the requests that wait for a reply, because the kernel is shut down, and then close the channels."""
        self._ended.set()
        async with self._exclusive:
            self.close()

    def close(self) -> None:
        """Close the channels at once."""
        self._client.stop_channels()


class _Progress:
    """How far a request to run code is."""

    def __init__(self) -> None:
        # Set when the request was sent.
        self.sent = asyncio.Event()
        # Set when its first message came.
        self.started = asyncio.Event()
        self.message_count = 0

    def note_message(self) -> None:
        """Note that a message of the request came."""
        self.started.set()
        self.message_count += 1


def _discard(work: asyncio.Future[dict[str, Any]]) -> None:
    """Cancel work whose caller has ended or was cancelled. It does nothing for work that has ended."""
    work.cancel()
    if work.done() and not work.cancelled():
        work.exception()  # marks the error as seen: a cancelled caller does not get it


def _ignore(_message: dict[str, Any]) -> None:
    """Ignore a message, because nobody needs the outputs of the request."""
