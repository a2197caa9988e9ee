"""OpenCode's tools, one module a subject, each with its `OFFERS`. Names and arguments are those of its MCP servers."""
