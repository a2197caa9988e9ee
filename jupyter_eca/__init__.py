"""The version and the hooks that Jupyter and IPython call. Imports nothing heavy: `%load_ext` runs this file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_eca._version import __version__

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from jupyter_eca.apps.api import Chat, connect
    from jupyter_eca.apps.kernel.panel.widget import Panel
    from jupyter_eca.apps.python_tools import tool

# Import paths of 0.1.0 that were documented; the next release drops the folder and this line.
__path__.append(f"{__path__[0]}/apps/earlier_paths")

__all__ = ["Chat", "Panel", "__version__", "connect", "tool"]

_FROM = {
    "Chat": "jupyter_eca.apps.api",
    "Panel": "jupyter_eca.apps.kernel.panel.widget",
    "connect": "jupyter_eca.apps.api",
    "tool": "jupyter_eca.apps.python_tools",
}


def __getattr__(name: str) -> Any:
    """What is heavy is imported when it is first used."""
    if name in _FROM:
        from importlib import import_module

        return getattr(import_module(_FROM[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Install `%eca` and `%%eca`, and tell a Jupyter server that this kernel can be reached."""
    from jupyter_eca.apps.kernel.extension import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take `%eca` and `%%eca` away again and end what they started."""
    from jupyter_eca.apps.kernel.extension import unload

    unload(shell)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:  # pyright: ignore[reportUnusedFunction]  # called by jupyter-server
    from jupyter_eca.apps.server.extension import EcaApp

    return [{"module": "jupyter_eca", "app": EcaApp}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:  # pyright: ignore[reportUnusedFunction]  # called by jupyter labextension
    return [{"src": "labextension", "dest": "jupyter-eca"}]
