"""Owns what travels between a client and the server: models, the JSON-RPC codec and the table of methods.

It is pure: it must not use a clock, an event loop or a file. `engine` is its neighbour: it decides what is sent.
"""
