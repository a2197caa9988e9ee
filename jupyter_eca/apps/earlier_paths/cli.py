"""Keeps the old import `jupyter_eca.cli` working, with a DeprecationWarning. The module is now
`jupyter_eca.apps.cli`."""

from __future__ import annotations

from warnings import warn

from jupyter_eca.apps.cli import main

__all__ = ["main"]

warn("jupyter_eca.cli has moved: import from jupyter_eca.apps.cli.", DeprecationWarning, stacklevel=2)
