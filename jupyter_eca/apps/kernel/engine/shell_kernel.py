"""Runs the assistant's code and describes variables in the live kernel, from inside the cell that waits for the answer.
An execute request of Jupyter would wait in the kernel's queue until that cell has ended.

It must not know the engine, the program that calls the model: `transport/eca_client.py` passes the engine's requests to
a `ShellKernel`. `cell_session` creates one for each IPython shell.
"""

from __future__ import annotations

import ast
import asyncio
import contextvars
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.apps.kernel.engine import saved_code
from jupyter_eca.apps.kernel.engine.interrupt import handle_interrupts_in_code
from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult, RunStatus
from jupyter_eca.workspace.kernels import database, introspect, profile, run_history
from jupyter_eca.workspace.kernels.output_text import OutputText

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from types import TracebackType


# The names under which `sys` keeps the last error for debuggers.
_LAST_ERROR_NAMES = ("last_exc", "last_type", "last_value", "last_traceback")

# The result of code that was stopped by the user, or that came after the stop.
_INTERRUPTED = KernelExecuteResult(status=RunStatus.INTERRUPTED, text="Interrupted by the user.")


class ShellKernel:
    """Runs code in one shell while a cell waits. It answers the engine's requests `kernel/execute` and
    `kernel/variables`."""

    def __init__(self, shell: Any, sibling: ShellKernel | None = None) -> None:
        """`sibling` is another `ShellKernel` of the same shell. Only one of the two runs code at a time."""
        self._shell = shell
        self._tasks: set[asyncio.Task[Any]] = set()  # the tasks that run code, or wait to run it
        # Only one run at a time is possible, because the capture of printed text applies to the whole shell.
        self._lock = sibling._lock if sibling is not None else asyncio.Lock()
        self._stopped = False  # whether the turn was stopped, so that its later code is refused
        self._context = contextvars.copy_context()  # the context of the cell that asks
        self._before_code: Callable[[], Awaitable[None]] | None = None  # see `begin`
        self._runs: list[dict[str, Any]] = []  # the runs of this turn, as the notebook saves them
        self._shown_code: set[str] = set()  # the code of this turn whose pictures are on the page

    def begin(self, before_code: Callable[[], Awaitable[None]]) -> None:
        """Begin a turn, in the cell that asks. From now on the turn's code may run. `before_code()` is awaited each
        time before code runs."""
        self._before_code = before_code
        self._stopped = False
        self._context = contextvars.copy_context()
        self._runs = []
        self._shown_code = set()

    @property
    def shown_code(self) -> frozenset[str]:
        """The code that ran in this turn, and whose figures are therefore on the page."""
        return frozenset(self._shown_code)

    @property
    def output_metadata(self) -> dict[str, Any]:
        """The metadata for the answer's output, with the code that ran in this turn."""
        return saved_code.build_metadata(self._runs)

    async def execute(self, code: str) -> KernelExecuteResult:
        """Run code and return its text output. Figures are shown on the page."""
        if self._stopped:
            return _INTERRUPTED
        if code == run_history.PRINT_HISTORY:
            # With this code the server asks, before the model answers each question, what ran in the kernel. The code
            # is not shown as code that runs, and not saved with the answer.
            history = eval(run_history.HISTORY_EXPRESSION, {"get_ipython": lambda: self._shell})  # noqa: S307  # our constant
            return KernelExecuteResult(status=RunStatus.OK, text=str(history))
        # The code runs in the context of the cell that asks, because ipykernel finds there to which cell a display
        # belongs. The caller's context is that of the cell which connected to the engine.
        task = asyncio.get_running_loop().create_task(self._execute_alone(code), context=self._context.copy())
        self._tasks.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            return _INTERRUPTED
        finally:
            self._tasks.discard(task)

    async def _execute_alone(self, code: str) -> KernelExecuteResult:
        """Run code as soon as no other code of the assistant runs."""
        async with self._lock:
            if self._before_code is not None:
                await self._before_code()
            return await self._execute(code)

    def cancel(self) -> None:
        """Cancel the turn's code that awaits, and refuse all code of the turn that arrives later: the server may have
        sent some already. Code that blocks is ended by the interrupt itself."""
        self._stopped = True
        for task in self._tasks:
            task.cancel()

    async def variables(self, names: tuple[str, ...]) -> KernelVariablesResult:
        """Describe the variables with these names; without names, describe all."""
        hidden = set(self._shell.user_ns_hidden)
        text = introspect.describe(
            self._shell.user_ns, list(names), hidden, profile.profile, database.describe_database
        )
        return KernelVariablesResult.model_validate_json(text)

    async def _execute(self, code: str) -> KernelExecuteResult:
        """Run code in the shell, and capture its output."""
        from IPython.utils.capture import capture_output

        source = self._shell.transform_cell(code)
        if problem := _find_syntax_error(source):
            return KernelExecuteResult(status=RunStatus.ERROR, text=problem)
        try:
            # `display_trap` sets the shell's hook for results. While a cell waits, it is set already.
            with (
                _collect_failures(self._shell) as failures,
                handle_interrupts_in_code(),
                self._shell.display_trap,
                capture_output() as captured,
            ):
                await self._shell.run_cell_async(code, store_history=False, transformed_cell=source)
        except KeyboardInterrupt:
            return _INTERRUPTED  # an interrupt between two statements, which the shell does not catch
        self._shown_code.add(code)
        outputs = OutputText(pictures=True)
        outputs.add("stream", {"text": captured.stdout + captured.stderr})
        for number, output in enumerate(cast("list[Any]", captured.outputs)):
            outputs.add("display_data", {"data": output.data})
            self._show_pictures(output, saved_code.build_output_mark(len(self._runs), number))
        if not failures:
            self._runs.append(saved_code.describe_run(code, captured, None))
            return KernelExecuteResult(status=RunStatus.OK, text=outputs.text, pictures=outputs.pictures)
        for failure in failures:
            outputs.add("error", {"traceback": failure.traceback})
        if isinstance(failures[0].error, KeyboardInterrupt | asyncio.CancelledError):
            return KernelExecuteResult(status=RunStatus.INTERRUPTED, text=outputs.text, pictures=outputs.pictures)
        self._runs.append(saved_code.describe_run(code, captured, failures[0].error))
        return KernelExecuteResult(status=RunStatus.ERROR, text=outputs.text, pictures=outputs.pictures)

    def _show_pictures(self, output: Any, mark: dict[str, Any]) -> None:
        """Show an output on the page if it is a figure or similar. Texts are for the model, and are shown with the tool
        call. `mark` is the metadata by which the saved run refers to the output."""
        if saved_code.has_own_output(output.data):
            self._shell.display_pub.publish(output.data, metadata={**(output.metadata or {}), **mark})


@dataclass(frozen=True)
class _Failure:
    """An error of the code that ran."""

    error: BaseException
    """The error itself."""
    traceback: list[str]
    """The lines of the formatted traceback."""


@contextmanager
def _collect_failures(shell: Any) -> Generator[list[_Failure]]:
    """Collect the errors of the code that runs in this context. Otherwise the shell would show them as errors of the
    waiting cell, and nbclient would stop the notebook there."""
    failures: list[_Failure] = []

    def record(
        shell: Any, kind: type[BaseException], error: BaseException, tb: TracebackType | None, tb_offset: Any = None
    ) -> list[str]:
        """Record an error. The arguments and the result are those of a custom exception handler of IPython. [] means
        that it shows nothing."""
        traceback = shell.InteractiveTB.structured_traceback(kind, error, tb, tb_offset=tb_offset)
        failures.append(_Failure(error, traceback))
        return []

    def record_exit(*_: Any, **__: Any) -> None:
        """Record `sys.exit()`, for which IPython does not call custom handlers."""
        kind, error, tb = sys.exc_info()
        if kind is not None and error is not None:
            record(shell, kind, error, tb)

    before = (shell.custom_exceptions, shell.CustomTB)
    # Remember the last error, so that `%debug` and `@error` still find the user's own error afterwards.
    last = {name: getattr(sys, name) for name in _LAST_ERROR_NAMES if hasattr(sys, name)}
    shell.set_custom_exc((BaseException,), record)
    shell.showtraceback = record_exit
    try:
        yield failures
    finally:
        shell.custom_exceptions, shell.CustomTB = before
        del shell.showtraceback
        for name in _LAST_ERROR_NAMES:
            if name in last:
                setattr(sys, name, last[name])
            elif hasattr(sys, name):
                delattr(sys, name)


def _find_syntax_error(source: str) -> str:
    """Return the syntax error of code; empty if there is none. IPython reports syntax errors without calling the custom
    handlers, so they must be found before it runs the code."""
    try:
        compile(source, "<assistant>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        return f"SyntaxError: {error.msg} (line {error.lineno}): {(error.text or '').strip()}"
    except ValueError as error:
        return f"The code cannot be compiled: {error}"
    return ""
