"""Owns the tools of the backend for OpenCode, another coding agent. They are offered over MCP. Each module owns one
subject, and exports its `OFFERS`. The names and arguments are those of existing MCP servers for OpenCode, so that their
users can switch.

The docstring of a tool is its description for the client's model.
"""
