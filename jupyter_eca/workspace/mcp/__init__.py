"""Servers of the Model Context Protocol. `connection` is the door to its SDK, imported when the first server starts."""

from jupyter_eca.workspace.mcp.manager import Manager as Manager
