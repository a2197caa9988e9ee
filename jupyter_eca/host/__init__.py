"""Owns the running chats: it feeds the engine, runs its effects, stores the events and sends them to clients.

It must not decide what happens in a chat: `engine` does. `fronts` is its neighbour: it speaks the clients' protocols.
"""
