"""A running OpenCode server behind the front: its 21 tools, by its HTTP API."""

from jupyter_eca.fronts.mcp.opencode.backend import OpenCode, opened

__all__ = ["OpenCode", "opened"]
