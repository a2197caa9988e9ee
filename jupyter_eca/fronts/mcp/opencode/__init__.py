"""Offers a running OpenCode server behind the front: its 21 tools, over its HTTP API."""

from jupyter_eca.fronts.mcp.opencode.backend import OpenCode, open_backend

__all__ = ["OpenCode", "open_backend"]
