"""Keeps the old import `jupyter_eca.tools.base` working, with a DeprecationWarning. The names are now in
`jupyter_eca.plugins`."""

from __future__ import annotations

from warnings import warn

from jupyter_eca.plugins.tools.base import (
    NativeTool,
    Need,
    Plain,
    Preview,
    Spawner,
    Tool,
    ToolContext,
    ToolFunction,
    tool,
)
from jupyter_eca.workspace.tool_result import Report, ToolResult

__all__ = [
    "NativeTool",
    "Need",
    "Plain",
    "Preview",
    "Report",
    "Spawner",
    "Tool",
    "ToolContext",
    "ToolFunction",
    "ToolResult",
    "tool",
]

warn("jupyter_eca.tools.base has moved: import from jupyter_eca.plugins.", DeprecationWarning, stacklevel=2)
