"""Starts and uses Jupyter's own terminals, for the front that shares them with its clients (`fronts/ahp/terminals/`).
It implements `fronts.base.Shells`.

It must not know the protocol of that front.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Callable


# Bash functions and variables for the environment of a terminal. With them bash reports its commands by escape
# sequences, in the form of VS Code's shell integration (OSC 633). Other shells ignore them. The first function escapes
# a text as such a sequence needs it, the second prints the last command line, and the third reports the exit code and
# the folder before each prompt. Bash prints `PS0` before it runs a command.
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
    """Starts terminals. They are also in Jupyter's own list of terminals, so a user can open them in JupyterLab."""

    def __init__(self, manager: Any) -> None:
        """`manager` is Jupyter's object that has all terminals."""
        self._manager = manager

    def open(
        self,
        folder: Path,
        cols: int,
        rows: int,
        on_output: Callable[[str], None],
        on_exit: Callable[[int | None], None],
    ) -> ServerShell:
        """Start a terminal in a folder, with `cols` columns and `rows` rows. `on_output` is called with each piece of
        its output, and `on_exit` with the exit status of its shell. Raises: LocalError."""
        try:
            options = {"cwd": str(folder), "width": cols, "height": rows, "extra_env": self._build_environment()}
            name = self._manager.create(**options)["name"]
        except (OSError, ValueError) as error:
            raise LocalError(f"A terminal cannot be started: {error}.") from error
        return ServerShell(self._manager, name, (rows, cols), on_output, on_exit)

    def _build_environment(self) -> dict[str, str]:
        """Return the variables for shell integration; none if the shell is not bash."""
        shell = self._manager.shell_command
        if not shell or Path(shell[0]).name != "bash":
            return {}
        before = os.environ.get("PROMPT_COMMAND")  # the user's own command before each prompt
        return {**_INTEGRATION, "PROMPT_COMMAND": f"__eca_prompt; {before}" if before else "__eca_prompt"}


class ServerShell:
    """One terminal. It is a client of terminado, the library of Jupyter's terminals. Terminado calls its methods
    `on_pty_read` and `on_pty_died`, and reads its `size`: rows and columns."""

    def __init__(
        self,
        manager: Any,
        name: str,
        size: tuple[int, int],
        on_output: Callable[[str], None],
        on_exit: Callable[[int | None], None],
    ) -> None:
        """`name` is that of the terminal in Jupyter, and `size` its rows and columns. See `ServerShells.open` for the
        callbacks."""
        self.size = size
        self._manager = manager
        self._name = name
        self._terminal = manager.get_terminal(name)
        self._on_output = on_output
        self._on_exit = on_exit
        self._terminal.clients.append(self)
        self._terminal.resize_to_smallest()

    def on_pty_read(self, text: str) -> None:
        """Pass output on."""
        self._note_activity()
        self._on_output(text)

    def on_pty_died(self) -> None:
        """Pass on that the shell has ended."""
        self._on_exit(self._terminal.ptyproc.exitstatus)

    def write(self, data: str) -> None:
        """Send input to the terminal. This is done in a thread: if the process does not read, its buffer becomes full,
        and a write would block the loop."""
        self._note_activity()
        self._manager.blocking_io_executor.submit(self._terminal.ptyproc.write, data)

    def resize(self, cols: int, rows: int) -> None:
        """Change the size to `cols` columns and `rows` rows. A terminal that other clients use too gets the smallest of
        all sizes."""
        self.size = (rows, cols)
        self._terminal.resize_to_smallest()

    async def end(self) -> None:
        """End the terminal and its processes."""
        if self in self._terminal.clients:
            self._terminal.clients.remove(self)
        if self._name in self._manager.terminals:
            await self._manager.terminate(self._name, force=True)

    def _note_activity(self) -> None:
        """Record the time of the last activity, because Jupyter may be configured to end idle terminals."""
        self._terminal.last_activity = datetime.now(UTC)
