"""Import paths of version 0.1.0 that were documented or are named by installed files. They go with the next release.

`jupyter_eca/__init__.py` and `jupyter_eca/engine/__init__.py` add this folder to their `__path__`: so
`jupyter_eca.tools.base` is the module `tools/base.py` here. Nothing of ours imports it; new code imports
`jupyter_eca.plugins`.
"""
