"""Duplexes of JSON-RPC messages. They carry messages and know nothing of what is in them."""
