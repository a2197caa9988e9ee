"""Keeps the old import `jupyter_eca.engine.delta` working, with a DeprecationWarning. Plugs import these names from
`jupyter_eca.plugins`, which gets them from `engine.model.delta`."""

from __future__ import annotations

from warnings import warn

from jupyter_eca.engine.model.delta import (
    Delta,
    Paused,
    ReasoningDelta,
    ReasoningEnd,
    Remark,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)

__all__ = ["Delta", "Paused", "ReasoningDelta", "ReasoningEnd", "Remark", "TextDelta", "ToolCallDelta", "UsageDelta"]

warn("jupyter_eca.engine.delta has moved: import from jupyter_eca.plugins.", DeprecationWarning, stacklevel=2)
