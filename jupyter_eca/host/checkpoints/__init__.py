"""Checkpoints taken before a tool changes something, and restoring from them."""
