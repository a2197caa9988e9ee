"""Keeps the old import `jupyter_eca.contexts.base` working, with a DeprecationWarning. The names are now in
`jupyter_eca.plugins`."""

from __future__ import annotations

from warnings import warn

from jupyter_eca.plugins.contexts.base import Context, Material, Surroundings
from jupyter_eca.workspace.ports import ExecutionMemory as Executed
from jupyter_eca.workspace.ports import OpenNotebooks

__all__ = ["Context", "Executed", "Material", "OpenNotebooks", "Surroundings"]

warn("jupyter_eca.contexts.base has moved: import from jupyter_eca.plugins.", DeprecationWarning, stacklevel=2)
