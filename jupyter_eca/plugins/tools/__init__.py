"""Owns the tools that a model may call: one module for each subject, with a constant `TOOLS`. `base` has the protocol
that a tool implements.
"""
