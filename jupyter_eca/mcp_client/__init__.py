"""Servers of the Model Context Protocol. `connection` is the door to its SDK, imported when the first server starts."""

from jupyter_eca.mcp_client.manager import Manager as Manager
