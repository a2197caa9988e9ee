"""Loads and unloads `%eca` in an IPython shell. It costs next to nothing: everything heavy waits for the first
question. `magic` is what it installs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_eca.apps.kernel.magic import Magic

_loaded: dict[int, Magic] = {}


def load(shell: InteractiveShell) -> None:
    """Install `%eca` in a shell. Loading twice changes nothing."""
    from jupyter_eca.apps.kernel.magic import Magic

    if id(shell) not in _loaded:
        _loaded[id(shell)] = Magic(shell)
    _loaded[id(shell)].install()


def unload(shell: InteractiveShell) -> None:
    if magic := _loaded.pop(id(shell), None):
        magic.uninstall()
