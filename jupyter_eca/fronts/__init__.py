"""Protocols that other programs speak to the host; each is a projection of the one stream of events."""
