"""Owns the clients of MCP servers (Model Context Protocol): it starts servers, signs in, and calls their tools.

It must not know chats. Other rooms use `McpManager` in `manager.py`. The SDK is imported when the first server starts.
"""

from jupyter_eca.mcp_client.manager import McpManager as McpManager
