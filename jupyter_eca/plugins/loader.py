"""The one loader: every plug is a module with one named constant, found in our own folder or by an entry point."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import sys
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any, cast

_log = logging.getLogger(__name__)

# The folder of our own plugs of a kind, where it is not named by the kind, as entry point groups are.
_FOLDERS = {
    "providers": "plugins.providers",
    "tools": "plugins.tools",
    "contexts": "plugins.contexts",
    "commands": "host.commands",
}


def find(kind: str, constant: str) -> dict[str, Any]:
    """Return the constants of all plugs of a kind (`providers`, `tools`, ...), by the name of their module or entry
    point.

    A third party's plug (entry point group `jupyter_eca.<kind>`) that cannot be loaded is logged and left out: it must
    not stop the assistant. A plug of ours that cannot be loaded is a bug and raises.
    """
    package = importlib.import_module(f"jupyter_eca.{_FOLDERS.get(kind, kind)}")
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "base":
            plug = importlib.import_module(f"{package.__name__}.{module.name}")
            if hasattr(plug, constant):
                found[module.name] = getattr(plug, constant)
    for entry in _entries(tuple(sys.path)).select(group=f"jupyter_eca.{kind}"):
        try:
            found[entry.name] = entry.load()
        except Exception:  # noqa: BLE001  # a plug boundary: anything may be wrong in there
            _log.exception("the %s plug %s of %s cannot be loaded", kind, entry.name, entry.value)
    return found


@lru_cache(maxsize=1)
def _entries(_path: tuple[str, ...]) -> EntryPoints:
    """Return all entry points of this path. That takes 30 ms in a Jupyter environment, and each kind of plug asks."""
    return cast("EntryPoints", entry_points())  # typeshed gives this Python's deprecated type
