"""Owns the public names of the package, its version, and the hooks that Jupyter and IPython call.

It must not import anything heavy, because `%load_ext jupyter_eca` and each start of Jupyter run this file. The work is
done by its neighbours in `apps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_eca._version import __version__

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_eca.apps.api import Chat, connect
    from jupyter_eca.apps.kernel.panel.widget import Panel
    from jupyter_eca.apps.python_tools import tool

# Programs that were written for 0.1.0 import some modules by earlier paths. This line lets Python find them in
# `apps/earlier_paths`. The next release drops the folder and this line.
__path__.append(f"{__path__[0]}/apps/earlier_paths")

__all__ = ["Chat", "Panel", "__version__", "connect", "tool"]

# The module of each public name. It is imported only when the name is used.
_MODULES = {
    "Chat": "jupyter_eca.apps.api",
    "Panel": "jupyter_eca.apps.kernel.panel.widget",
    "connect": "jupyter_eca.apps.api",
    "tool": "jupyter_eca.apps.python_tools",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Install `%eca` and `%%eca`, and tell a Jupyter server that this kernel can be reached."""
    from jupyter_eca.apps.kernel.extension import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove `%eca` and `%%eca`, and end what they have started."""
    from jupyter_eca.apps.kernel.extension import unload

    unload(shell)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:  # pyright: ignore[reportUnusedFunction]  # called by jupyter-server
    """Tell jupyter-server which extension to load."""
    from jupyter_eca.apps.server.extension import EcaApp

    return [{"module": "jupyter_eca", "app": EcaApp}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:  # pyright: ignore[reportUnusedFunction]  # called by jupyter labextension
    """Tell JupyterLab where the built extension is in this package, and what it is called there."""
    return [{"src": "labextension", "dest": "jupyter-eca"}]
