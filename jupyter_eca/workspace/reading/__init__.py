"""Converts files, pages, cells and variables to text and images for a model. Each format has a module.

The modules must not know contexts or tools, which are in `plugins/`.
"""
