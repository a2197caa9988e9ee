"""The earlier path of `jupyter_eca.apps.cli`, with a DeprecationWarning."""

from __future__ import annotations

from warnings import warn

from jupyter_eca.apps.cli import main

__all__ = ["main"]

warn("jupyter_eca.cli has moved: import from jupyter_eca.apps.cli.", DeprecationWarning, stacklevel=2)
