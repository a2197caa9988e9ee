"""Connects a kernel to an engine, which is the program that calls the model and runs tools. It is the engine of the
Jupyter server, which is reached over a comm, or an engine in the kernel's process. A comm is Jupyter's channel for
messages between a kernel and others.

It also owns what an engine needs of the kernel: running code, variables, and the notebook that a program runs.
"""
