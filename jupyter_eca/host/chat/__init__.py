"""Owns the chats in memory: their data, their tasks, and the registry that gives the engine's inputs to them."""
