"""Owns the messages of the Chat Completions API, which most servers speak, as plain data. It must not know an SDK or a
connection: `providers.openai` does.
"""
