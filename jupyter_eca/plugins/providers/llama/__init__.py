"""Owns the form of requests to models that run inside this process, and of their answers: the messages, the tools, and
the calls of tools. It must not load a model: `providers.local` does.
"""
