"""Decides which arguments of a tool call are shown besides its details, and formats the command of a call. Pure.

It must not know how a call is drawn: the cells and the fronts do.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.protocol.content import (
    FileChangeDetails,
    RunCellsDetails,
    SandboxState,
    ShellCommandDetails,
    TaskDetails,
)

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import ShellCommandPart, ToolCallDetails

# The arguments that the details of a call show in a better way, by the type of the details. They are not shown again.
_SHOWN_BY_DETAILS: Final[dict[type, frozenset[str]]] = {
    FileChangeDetails: frozenset({"path", "content", "original_content", "new_content", "changes"}),
    ShellCommandDetails: frozenset({"command", "background", "outside"}),
    TaskDetails: frozenset({"op", "tasks", "ids", "active_summary"}),
    RunCellsDetails: frozenset({"cells"}),
}

# Where a command runs, in words for the user.
SANDBOX_WORDS: Final = {
    SandboxState.INSIDE: "in the sandbox",
    SandboxState.TRUSTED: "in the sandbox",
    SandboxState.OUTSIDE: "outside of the sandbox, with all your rights",
    SandboxState.MISSING: "without a sandbox, with all your rights: this machine has none",
}


def split_arguments(arguments: dict[str, Any], details: ToolCallDetails | None) -> tuple[str | None, dict[str, Any]]:
    """Return the argument `code`, and those other arguments that the details do not show. Instead of `code`, return
    None when there is no such argument or it is no text."""
    source = arguments.get("code")
    covered = _SHOWN_BY_DETAILS.get(type(details), frozenset[str]()) | (
        {"code"} if isinstance(source, str) else set[str]()
    )
    others = {name: value for name, value in arguments.items() if name not in covered}
    return (source if isinstance(source, str) else None), others


def format_runs(details: ToolCallDetails | None) -> str:
    """Return the sources of the cells that a call runs, exactly as they run, "" if it runs none. A change of a notebook
    may run cells that it does not change."""
    match details:
        case RunCellsDetails():
            return details.as_text()
        case FileChangeDetails(path=path, runs=runs) if runs:
            return f"# Then {len(runs)} of the cells run:\n{RunCellsDetails(path=path, cells=runs).as_text()}"
        case _:
            return ""


def format_command(arguments: dict[str, Any], details: ShellCommandDetails) -> str:
    """Return the command line exactly as it runs. Chats of older versions have it only in the arguments."""
    written = details.line or arguments.get("command")
    text = written if isinstance(written, str) else "\n".join(map(_join_words, details.commands))
    remarks = ["# in the background"] if details.background else []
    remarks += [f"# {SANDBOX_WORDS[details.sandbox]}"] if details.sandbox else []
    return "\n".join((text, *remarks))


def _join_words(part: ShellCommandPart) -> str:
    """Return one command as a line of a shell."""
    return shlex.join((part.command, *part.args)) if part.args else part.command
