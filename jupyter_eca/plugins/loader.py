"""Owns the loader of plugs. A plug is a module with one named constant. It is found in our own folders, or by an entry
point of another package, which names the constant itself (`my_tool:TOOLS`). The loader must not know what plugs do:
`plugins.providers`, `plugins.tools` and others do.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import sys
from functools import cache, lru_cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint, EntryPoints

_log = logging.getLogger(__name__)

# The folders of our own plugs, by kind. A kind that is not named here has a folder of its own name.
_FOLDERS = {
    "providers": "plugins.providers",
    "tools": "plugins.tools",
    "contexts": "plugins.contexts",
    "commands": "host.commands",
    "agents": "plugins.agents",
}


def find(kind: str, constant: str, check: Callable[[Any], None] | None = None) -> dict[str, Any]:
    """Return the constants of all plugs of a kind (`providers`, `tools`, ...), by the name of their module or entry
    point. `check` raises TypeError for a constant that is no plug of this kind, see `check_plug`.

    A third party's plug (entry point group `jupyter_eca.<kind>`) that cannot be loaded is logged and left out, because
    it must not stop the assistant. A plug of ours that cannot be loaded raises its error, because that is a bug. If two
    plugs have the same name, the one that was found last is used, and this is logged. So a third party can replace a
    plug of ours.
    """
    package = importlib.import_module(f"jupyter_eca.{_FOLDERS.get(kind, kind)}")
    found: dict[str, Any] = {}
    for name in _list_modules(tuple(package.__path__)):
        if name != "base":  # `base` has the interface of the plugs
            imported = importlib.import_module(f"{package.__name__}.{name}")
            if hasattr(imported, constant):
                plug = getattr(imported, constant)
                if check is not None:
                    check(plug)
                found[name] = plug
    for entry in _group_entry_points(tuple(sys.path)).get(f"jupyter_eca.{kind}", ()):
        try:
            plug = entry.load()
            if check is not None:
                check(plug)
        except Exception:  # noqa: BLE001  # the boundary to plugs: anything may be wrong in them
            _log.exception("the %s plug %s of %s cannot be loaded", kind, entry.name, entry.value)
            continue
        if entry.name in found:
            _warn_of_replacement(kind, entry.name, entry.value)
        found[entry.name] = plug
    return found


def check_plug(plug: object, kind: type | tuple[type, ...], wanted: str) -> None:
    """Check that a plug is an object of a kind, and not the class of such an object. `wanted` says what its author must
    write. Raises: TypeError."""
    if isinstance(plug, type) or not isinstance(plug, kind):
        found = f"the class {plug.__name__}" if isinstance(plug, type) else f"of the type {type(plug).__name__}"
        raise TypeError(f"The constant must be {wanted}. It is {found}.")


@cache
def _warn_of_replacement(kind: str, name: str, value: str) -> None:
    """Log that an entry point replaces another plug. It is cached because plugs of some kinds are found more than once,
    and one warning is enough."""
    _log.warning("the %s plug %s is replaced by %s, which has the same name", kind, name, value)


@cache
def _list_modules(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the modules of a package of ours. Its folders do not change while it runs."""
    return tuple(module.name for module in pkgutil.iter_modules(path))


@lru_cache(maxsize=1)
def _group_entry_points(_path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of plugs, by group. They are cached until `sys.path` (`_path`) changes, because this
    takes 30 ms in a Jupyter environment, and is needed for each kind of plug."""
    points = cast("EntryPoints", entry_points())  # typeshed gives this Python's deprecated type
    groups = [group for group in points.groups if group.startswith("jupyter_eca.")]
    return {group: tuple(points.select(group=group)) for group in groups}
