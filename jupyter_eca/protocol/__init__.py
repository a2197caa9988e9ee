"""Owns what travels between a client and the server: models, the JSON-RPC codec and the table of methods.

Most of it is ECA (Editor Code Assistant), the protocol in which editors, our panel and our cells speak to the server.
`ahp/` and `rest` have the models of two other protocols. This room is pure: it must not use a clock, an event loop or a
file. `engine` is its neighbour: it decides what is sent.
"""
