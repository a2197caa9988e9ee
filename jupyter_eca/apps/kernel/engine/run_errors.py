"""Remembers the errors with which the inputs of a shell ended, because IPython keeps only the last error. An engine in
the kernel reads them (`executed_notebook.py`).

It must not know an engine. `magic` calls `start_recording` when the extension is loaded.
"""

from __future__ import annotations

from typing import Any, Final

# The most errors that are remembered, and the most characters of each error.
_MAX_ERRORS: Final = 100
_MAX_CHARS: Final = 300

# The attribute of the shell that has its `RunErrors`.
_SHELL_ATTRIBUTE: Final = "_jupyter_eca_run_errors"


class RunErrors:
    """The errors of one shell, by execution count, each in one line."""

    def __init__(self) -> None:
        self._errors: dict[int, str] = {}  # the oldest first

    def find(self, count: int) -> str:
        """Return the error of the input with this execution count; empty if there was none, or it is not known."""
        return self._errors.get(count, "")

    def record_result(self, result: Any) -> None:
        """Remember the error of an input, if it ended with one. IPython calls this after each input with its
        `ExecutionResult`."""
        count = getattr(result, "execution_count", None)
        error = getattr(result, "error_before_exec", None) or getattr(result, "error_in_exec", None)
        if not isinstance(count, int) or error is None:
            return
        self._errors[count] = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_CHARS]
        for old in list(self._errors)[:-_MAX_ERRORS]:
            del self._errors[old]


def get_run_errors(shell: Any) -> RunErrors:
    """Return the errors of a shell. From the first call on, they are recorded."""
    errors: RunErrors | None = getattr(shell, _SHELL_ATTRIBUTE, None)
    if errors is None:
        errors = RunErrors()
        setattr(shell, _SHELL_ATTRIBUTE, errors)
        shell.events.register("post_run_cell", errors.record_result)
    return errors


def start_recording(shell: Any) -> None:
    """Remember the errors of a shell from now on. A second call changes nothing."""
    get_run_errors(shell)


def stop_recording(shell: Any) -> None:
    """Remember no more errors of a shell, and forget those that were remembered."""
    errors: RunErrors | None = getattr(shell, _SHELL_ATTRIBUTE, None)
    if errors is not None:
        shell.events.unregister("post_run_cell", errors.record_result)
        delattr(shell, _SHELL_ATTRIBUTE)
