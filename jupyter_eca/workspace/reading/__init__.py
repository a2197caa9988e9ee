"""Turns what a user points at into text and pictures for a model: one module for each format.

The modules must not know contexts or tools; those are in `plugins/`.
"""
