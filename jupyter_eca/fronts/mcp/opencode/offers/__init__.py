"""Owns OpenCode's tools: one module for each subject, with its `OFFERS`. Names and arguments are those of its MCP
servers."""
