"""Owns the import paths of version 0.1.0 that were documented, or that installed files name. The next release removes
them.

`jupyter_eca/__init__.py` and `jupyter_eca/engine/__init__.py` add this folder to their `__path__`, so that
`jupyter_eca.tools.base` is the module `tools/base.py` here. Our own code must not import these paths. New code imports
`jupyter_eca.plugins`.
"""
