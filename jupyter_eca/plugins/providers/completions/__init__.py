"""The Chat Completions API as plain data. Most servers speak it; nothing here knows an SDK or a connection."""
