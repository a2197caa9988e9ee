"""Owns the registry of tools, the progress of tool calls, the outputs that are too long for a model, and the files that
a call names.
"""
