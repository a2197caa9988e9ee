"""OpenCode's tools, one module for each subject, with its `OFFERS`. Names and arguments are as in its MCP servers."""
