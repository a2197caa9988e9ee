"""Owns the backend of a running OpenCode server. OpenCode is another coding agent. The backend offers 21 tools over MCP
(Model Context Protocol), which use the server's HTTP API.

It must not know the protocol: `../server.py` does. `backend.py` is the backend, `api.py` sends the requests, `offers/`
has the tools, `pending.py` the questions that OpenCode asks its user, and `settings.py` changes its configuration.
"""

from jupyter_eca.fronts.mcp.opencode.backend import OpenCode, open_backend

__all__ = ["OpenCode", "open_backend"]
