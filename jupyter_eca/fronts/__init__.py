"""Owns the protocols in which clients speak to the host, the object that runs all chats. Each protocol is a front: it
shows the same stream of events in its own messages.

It must not know the program that serves it: `apps/` runs the fronts. `base.py` has the interfaces of a front.
"""
