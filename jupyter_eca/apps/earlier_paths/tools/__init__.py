"""Keeps the package `jupyter_eca.tools` of version 0.1.0. Its module `base` has the names that are in
`jupyter_eca.plugins` now.
"""
