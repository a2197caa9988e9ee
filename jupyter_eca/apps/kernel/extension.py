"""Loads and unloads `%eca` in an IPython shell, for `%load_ext jupyter_eca`.

It must not import anything heavy, so that loading is quick: the rest is imported with the first question. It installs
`magic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_eca.apps.kernel.magic import Magic

# The magics of each shell, by the id of the shell object.
_loaded: dict[int, Magic] = {}


def load(shell: InteractiveShell) -> None:
    """Install `%eca` in a shell. A second call changes nothing."""
    from jupyter_eca.apps.kernel.magic import Magic

    if id(shell) not in _loaded:
        _loaded[id(shell)] = Magic(shell)
    _loaded[id(shell)].install()


def unload(shell: InteractiveShell) -> None:
    """Remove `%eca` from a shell. A second call changes nothing."""
    if magic := _loaded.pop(id(shell), None):
        magic.uninstall()
