"""Owns the turns: how one begins, the setup that it runs with, the effects that it runs, and how it is stopped.

A turn is all that follows from one prompt: the model's replies and their tool calls, until the model has finished.
"""
