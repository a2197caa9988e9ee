"""Connects a kernel to an engine: to the engine of the Jupyter server over a comm, or to one in the kernel's process.

It also owns what an engine needs of the kernel: running code, variables, and the notebook that a program runs.
"""
