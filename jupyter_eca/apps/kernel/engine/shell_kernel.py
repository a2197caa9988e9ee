"""The port `Kernel` on the live shell: runs code and describes variables from within the cell that waits for the
answer. It knows no engine; `cell_session` makes one per shell.
"""

from __future__ import annotations

import ast
import asyncio
import contextvars
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.apps.kernel.engine import saved_code as kept
from jupyter_eca.apps.kernel.engine.interrupt import in_code
from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult, RunStatus
from jupyter_eca.workspace.kernels import introspect
from jupyter_eca.workspace.kernels.output_text import OutputText

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from types import TracebackType


_LAST = ("last_exc", "last_type", "last_value", "last_traceback")

_INTERRUPTED = KernelExecuteResult(status=RunStatus.INTERRUPTED, text="Interrupted by the user.")


class ShellKernel:
    """Answers the engine's requests while a cell waits. There is one for each shell."""

    def __init__(self, shell: Any, beside: ShellKernel | None = None) -> None:
        """Make the kernel of a shell. `beside` is another `ShellKernel` of the same shell."""
        self._shell = shell
        self._tasks: set[asyncio.Task[Any]] = set()
        # Only one may run at a time: the capture of printed text applies to the whole shell.
        self._turn = beside._turn if beside is not None else asyncio.Lock()
        self._stopped = False
        self._context = contextvars.copy_context()
        self._before: Callable[[], Awaitable[None]] | None = None
        self._runs: list[dict[str, Any]] = []

    def begin(self, before: Callable[[], Awaitable[None]]) -> None:
        """Begin a turn in the cell that asks. Its code may run from now on; `before` is called each time before it
        runs."""
        self._before = before
        self._stopped = False
        self._context = contextvars.copy_context()
        self._runs = []

    @property
    def output_metadata(self) -> dict[str, Any]:
        """The metadata of an output in which the notebook keeps the code that ran in this turn."""
        return kept.metadata(self._runs)

    async def execute(self, code: str) -> KernelExecuteResult:
        if self._stopped:
            return _INTERRUPTED
        # Run in the context of the cell that asks, which tells ipykernel where to send displays. The caller's context
        # is that of the cell which connected to the engine.
        task = asyncio.get_running_loop().create_task(self._in_turn(code), context=self._context.copy())
        self._tasks.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            return _INTERRUPTED
        finally:
            self._tasks.discard(task)

    async def _in_turn(self, code: str) -> KernelExecuteResult:
        async with self._turn:
            if self._before is not None:
                await self._before()
            return await self._execute(code)

    def cancel(self) -> None:
        """Start no more code of this turn (it may be on its way from the server), and cancel code that awaits. Code
        that blocks is ended by the kernel's own interrupt."""
        self._stopped = True
        for task in self._tasks:
            task.cancel()

    async def variables(self, names: tuple[str, ...]) -> KernelVariablesResult:
        hidden = set(self._shell.user_ns_hidden)
        text = introspect.describe(self._shell.user_ns, list(names), hidden)
        return KernelVariablesResult.model_validate_json(text)

    async def _execute(self, code: str) -> KernelExecuteResult:
        from IPython.utils.capture import capture_output

        source = self._shell.transform_cell(code)
        if problem := _syntax_error(source):
            return KernelExecuteResult(status=RunStatus.ERROR, text=problem)
        try:
            # A cell that waits has set the shell's hook for results; without such a cell, the capture must set it.
            with (
                _collect_failures(self._shell) as failures,
                in_code(),
                self._shell.display_trap,
                capture_output() as captured,
            ):
                await self._shell.run_cell_async(code, store_history=False, transformed_cell=source)
        except KeyboardInterrupt:
            return _INTERRUPTED  # an interrupt between two statements, where the shell does not expect it
        outputs = OutputText()
        outputs.add("stream", {"text": captured.stdout + captured.stderr})
        for number, output in enumerate(cast("list[Any]", captured.outputs)):
            outputs.add("display_data", {"data": output.data})
            self._show_pictures(output, kept.mark(len(self._runs), number))
        if not failures:
            self._runs.append(kept.run(code, captured, None))
            return KernelExecuteResult(status=RunStatus.OK, text=outputs.text)
        for failure in failures:
            outputs.add("error", {"traceback": failure.traceback})
        if isinstance(failures[0].error, KeyboardInterrupt | asyncio.CancelledError):
            return KernelExecuteResult(status=RunStatus.INTERRUPTED, text=outputs.text)
        self._runs.append(kept.run(code, captured, failures[0].error))
        return KernelExecuteResult(status=RunStatus.ERROR, text=outputs.text)

    def _show_pictures(self, output: Any, mark: dict[str, Any]) -> None:
        """Show figures on the page: they are for the user. Texts are for the model, and stand in the line of the tool
        call."""
        if kept.is_shown(output.data):
            self._shell.display_pub.publish(output.data, metadata={**(output.metadata or {}), **mark})


@dataclass(frozen=True)
class _Failure:
    error: BaseException
    traceback: list[str]


@contextmanager
def _collect_failures(shell: Any) -> Generator[list[_Failure]]:
    """Collect failures of code. The shell would send them to the page as this cell's own, and nbclient would stop the
    notebook there."""
    failures: list[_Failure] = []

    def note(
        shell: Any, kind: type[BaseException], error: BaseException, tb: TracebackType | None, tb_offset: Any = None
    ) -> list[str]:
        traceback = shell.InteractiveTB.structured_traceback(kind, error, tb, tb_offset=tb_offset)
        failures.append(_Failure(error, traceback))
        return []

    def note_exit(*_: Any, **__: Any) -> None:
        """Note `sys.exit()`, which custom handlers do not get."""
        kind, error, tb = sys.exc_info()
        if kind is not None and error is not None:
            note(shell, kind, error, tb)

    before = (shell.custom_exceptions, shell.CustomTB)
    # The last error, which `%debug` and `@error` use, stays the user's own.
    last = {name: getattr(sys, name) for name in _LAST if hasattr(sys, name)}
    shell.set_custom_exc((BaseException,), note)
    shell.showtraceback = note_exit
    try:
        yield failures
    finally:
        shell.custom_exceptions, shell.CustomTB = before
        del shell.showtraceback
        for name in _LAST:
            if name in last:
                setattr(sys, name, last[name])
            elif hasattr(sys, name):
                delattr(sys, name)


def _syntax_error(source: str) -> str:
    """Return the syntax error of code. IPython reports these past every hook, so they are found before it sees the
    code."""
    try:
        compile(source, "<assistant>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        return f"SyntaxError: {error.msg} (line {error.lineno}): {(error.text or '').strip()}"
    except ValueError as error:
        return f"The code cannot be compiled: {error}"
    return ""
