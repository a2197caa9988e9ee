"""The Responses API as plain data. Nothing here knows an SDK or a connection."""
