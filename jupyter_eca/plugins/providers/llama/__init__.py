"""Owns the requests to models inside this process as plain data: the messages, the tools, and the calls that come back.
It must not load a model: `providers.local` does.
"""
