"""Owns the methods of ECA (Editor Code Assistant, the protocol of the panel and of editors), one module for each
subject.

Each module exports `HANDLERS`, which maps the name of a method to its function. A function gets the session, which is
the connection of one client, and the params. It returns the result. A function of a notification returns nothing.
`session.host` is the object that runs all chats.
"""
