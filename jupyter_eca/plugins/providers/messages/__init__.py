"""Owns the messages of the Anthropic Messages API, which several servers speak, as plain data. It must not know an SDK
or a connection: `providers.anthropic` does.
"""
