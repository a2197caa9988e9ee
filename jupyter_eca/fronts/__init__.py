"""Owns the protocols in which clients speak to the host. Each shows the same stream of events in its own messages.

It must not know who serves it: `apps` does.
"""
