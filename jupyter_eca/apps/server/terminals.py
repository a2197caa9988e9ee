"""Owns Jupyter's own terminals, for clients that share them: `fronts.base.Shells`.

It must not know the protocol that shares them (`fronts/ahp/terminals/`).
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Callable


# Functions in the environment by which bash reports its commands, in VS Code's marks. Other shells ignore them.
_ESCAPED: Final = (
    r"""() { local t=$1; t=${t//\\/\\\\}; t=${t//;/\\x3b}; t=${t//$'\n'/\\x0a}; builtin printf '%s' "$t"; }"""
)
_LINE: Final = r"""() { local t; t=$(HISTTIMEFORMAT= builtin history 1); [[ $t =~ ^\ *[0-9]+[\ *]\ (.*) ]]
__eca_escaped "${BASH_REMATCH[1]}"; }"""
_PROMPT: Final = r"""() { local s=$?; builtin printf '\e]633;D;%s\a\e]633;P;Cwd=%s\a\e]633;A\a' \
"$s" "$(__eca_escaped "$PWD")"; return $s; }"""
_INTEGRATION: Final = {
    "BASH_FUNC___eca_escaped%%": _ESCAPED,
    "BASH_FUNC___eca_line%%": _LINE,
    "BASH_FUNC___eca_prompt%%": _PROMPT,
    "PS0": r"\e]633;E;$(__eca_line)\a\e]633;C\a",
}


class ServerShells:
    """Starts terminals. They are in Jupyter's list of terminals too, and can be opened in a page."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def open(
        self,
        folder: Path,
        cols: int,
        rows: int,
        on_output: Callable[[str], None],
        on_exit: Callable[[int | None], None],
    ) -> ServerShell:
        """Start a terminal. Raises: LocalError."""
        try:
            about = {"cwd": str(folder), "width": cols, "height": rows, "extra_env": self._integration()}
            name = self._manager.create(**about)["name"]
        except (OSError, ValueError) as error:
            raise LocalError(f"A terminal cannot be started: {error}.") from error
        return ServerShell(self._manager, name, (rows, cols), on_output, on_exit)

    def _integration(self) -> dict[str, str]:
        shell = self._manager.shell_command
        if not shell or Path(shell[0]).name != "bash":
            return {}
        before = os.environ.get("PROMPT_COMMAND")
        return {**_INTEGRATION, "PROMPT_COMMAND": f"__eca_prompt; {before}" if before else "__eca_prompt"}


class ServerShell:
    """One terminal, as a client of terminado: `size` is rows and columns, as terminado wants it."""

    def __init__(
        self,
        manager: Any,
        name: str,
        size: tuple[int, int],
        on_output: Callable[[str], None],
        on_exit: Callable[[int | None], None],
    ) -> None:
        self.size = size
        self._manager = manager
        self._name = name
        self._terminal = manager.get_terminal(name)
        self._on_output = on_output
        self._on_exit = on_exit
        self._terminal.clients.append(self)
        self._terminal.resize_to_smallest()

    def on_pty_read(self, text: str) -> None:
        self._note_activity()
        self._on_output(text)

    def on_pty_died(self) -> None:
        self._on_exit(self._terminal.ptyproc.exitstatus)

    def write(self, data: str) -> None:
        """Write in a thread: a process that does not read fills its buffer, and would block the loop."""
        self._note_activity()
        self._manager.blocking_io_executor.submit(self._terminal.ptyproc.write, data)

    def resize(self, cols: int, rows: int) -> None:
        self.size = (rows, cols)
        self._terminal.resize_to_smallest()

    async def end(self) -> None:
        if self in self._terminal.clients:
            self._terminal.clients.remove(self)
        if self._name in self._manager.terminals:
            await self._manager.terminate(self._name, force=True)

    def _note_activity(self) -> None:
        """Note the activity: Jupyter can be configured to end terminals that are idle for long."""
        self._terminal.last_activity = datetime.now(UTC)
