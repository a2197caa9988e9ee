"""Owns the messages of OpenAI's Chat Completions API, which most servers speak, as plain data. It must not know an SDK
or a connection: `providers.openai` does.
"""
