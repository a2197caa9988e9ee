"""Keeps the old import `jupyter_eca.providers.base` working, with a DeprecationWarning. The names are now in
`jupyter_eca.plugins`."""

from __future__ import annotations

from warnings import warn

from jupyter_eca.plugins.providers.base import Keyed, MayLackTools, Preset, Provider, Serves, ShowsRequest, Warms

__all__ = ["Keyed", "MayLackTools", "Preset", "Provider", "Serves", "ShowsRequest", "Warms"]

warn("jupyter_eca.providers.base has moved: import from jupyter_eca.plugins.", DeprecationWarning, stacklevel=2)
