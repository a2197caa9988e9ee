"""Clients of MCP servers (Model Context Protocol): started, signed in to, watched, their tools called. `manager` is
the door; the SDK is imported when the first server starts.
"""

from jupyter_eca.mcp_client.manager import McpManager as McpManager
