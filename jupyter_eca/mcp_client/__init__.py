"""Owns the clients of MCP servers (Model Context Protocol): it starts servers, signs in, and calls their tools.

An MCP server is a program or a web address that offers tools, resources (texts and files) and prompts to an assistant.
The room must not know chats. Other rooms use `McpManager` in `manager.py`. "The SDK" is the package `mcp`, which
implements the protocol. It is imported when the first server starts.
"""

from jupyter_eca.mcp_client.manager import McpManager as McpManager
