"""Owns the providers, tools, contexts and known outside agents, and the names that authors of plugs import: `tool`,
`ToolContext` and others.

These names stay here when the modules behind them move. Each name is imported when it is first used, so that importing
`loader` or one plug stays fast. This room must not know the host. `loader` finds the plugs of every kind.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_eca.config.outside.outside_agents import OutsideAgent
    from jupyter_eca.engine.model.delta import (
        Delta,
        ReasoningDelta,
        ReasoningEnd,
        TextDelta,
        ToolCallDelta,
        UsageDelta,
    )
    from jupyter_eca.engine.model.request import ChatMessage, DocumentPart, ImagePart, ModelRequest, TextPart
    from jupyter_eca.errors import ProviderError, ToolError
    from jupyter_eca.plugins.contexts.base import Context, Material, Surroundings
    from jupyter_eca.plugins.providers.base import Provider
    from jupyter_eca.plugins.tools.base import Need, Tool, ToolContext, tool
    from jupyter_eca.protocol.context import OtherContext
    from jupyter_eca.workspace.files import text_file
    from jupyter_eca.workspace.files.read_threads import run_read
    from jupyter_eca.workspace.ports import Files
    from jupyter_eca.workspace.tool_result import Report, ToolResult

__all__ = [
    "ChatMessage",
    "Context",
    "Delta",
    "DocumentPart",
    "Files",
    "ImagePart",
    "Material",
    "ModelRequest",
    "Need",
    "OtherContext",
    "OutsideAgent",
    "Provider",
    "ProviderError",
    "ReasoningDelta",
    "ReasoningEnd",
    "Report",
    "Surroundings",
    "TextDelta",
    "TextPart",
    "Tool",
    "ToolCallDelta",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "UsageDelta",
    "run_read",
    "text_file",
    "tool",
]

# The module of each name, below `jupyter_eca`.
_MODULES = {
    **dict.fromkeys(("tool", "Tool", "ToolContext", "Need"), "plugins.tools.base"),
    **dict.fromkeys(("ToolResult", "Report"), "workspace.tool_result"),
    **dict.fromkeys(("Context", "Material", "Surroundings"), "plugins.contexts.base"),
    **dict.fromkeys(("Provider",), "plugins.providers.base"),
    **dict.fromkeys(("ChatMessage", "ModelRequest", "TextPart", "ImagePart", "DocumentPart"), "engine.model.request"),
    **dict.fromkeys(("ToolError", "ProviderError"), "errors"),
    **dict.fromkeys(("Files",), "workspace.ports"),
    **dict.fromkeys(("OtherContext",), "protocol.context"),
    "OutsideAgent": "config.outside.outside_agents",
    "run_read": "workspace.files.read_threads",
    "text_file": "workspace.files.text_file",
    **dict.fromkeys(
        ("Delta", "ReasoningDelta", "ReasoningEnd", "TextDelta", "ToolCallDelta", "UsageDelta"), "engine.model.delta"
    ),
}


def __getattr__(name: str) -> Any:
    """Import a name of `__all__` from its module. Raises: AttributeError for any other name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"jupyter_eca.{_MODULES[name]}")
    # `text_file` is the name of a module itself.
    return module if name == "text_file" else getattr(module, name)
