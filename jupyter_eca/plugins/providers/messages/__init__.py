"""The Anthropic Messages API as plain data. Several servers speak it; nothing here knows an SDK or a connection."""
