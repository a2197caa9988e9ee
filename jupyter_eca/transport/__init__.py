"""Owns the links that carry JSON-RPC messages, the peer on top of a link, and the ECA client on top of the peer.

It must not know the host or any front. `protocol` is its neighbour: it defines the messages.
"""
