"""Jupyter's own terminals, for clients that share them: `fronts.ahp.terminals.Shells`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class ServerShells:
    """They are in Jupyter's list of terminals as well, and can be opened in a page."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def open(
        self, folder: Path, cols: int, rows: int, said: Callable[[str], None], ended: Callable[[int | None], None]
    ) -> ServerShell:
        """Raises: LocalError."""
        try:
            name = self._manager.create(cwd=str(folder), width=cols, height=rows)["name"]
        except (OSError, ValueError) as error:
            raise LocalError(f"A terminal cannot be started: {error}.") from error
        return ServerShell(self._manager, name, (rows, cols), said, ended)


class ServerShell:
    """One of terminado's clients, in its words: `size` is rows and columns."""

    def __init__(
        self,
        manager: Any,
        name: str,
        size: tuple[int, int],
        said: Callable[[str], None],
        ended: Callable[[int | None], None],
    ) -> None:
        self.size = size
        self._manager = manager
        self._name = name
        self._terminal = manager.get_terminal(name)
        self._said = said
        self._ended = ended
        self._terminal.clients.append(self)
        self._terminal.resize_to_smallest()

    def on_pty_read(self, text: str) -> None:
        self._used()
        self._said(text)

    def on_pty_died(self) -> None:
        self._ended(self._terminal.ptyproc.exitstatus)

    def write(self, data: str) -> None:
        """Not on the loop: a process that does not read fills its buffer."""
        self._used()
        self._manager.blocking_io_executor.submit(self._terminal.ptyproc.write, data)

    def resize(self, cols: int, rows: int) -> None:
        self.size = (rows, cols)
        self._terminal.resize_to_smallest()

    async def end(self) -> None:
        if self in self._terminal.clients:
            self._terminal.clients.remove(self)
        if self._name in self._manager.terminals:
            await self._manager.terminate(self._name, force=True)

    def _used(self) -> None:
        """Jupyter ends those that nobody has used for long, where it is told to."""
        self._terminal.last_activity = datetime.now(UTC)
