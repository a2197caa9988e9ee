"""Owns the tools that come from the configuration of the user: custom tools, and the tools of MCP servers. No module
here is a plug.
"""
