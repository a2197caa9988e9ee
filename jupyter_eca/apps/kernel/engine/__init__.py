"""Connects a kernel to an engine: over a comm to the Jupyter server, or to an engine of its own in this process."""
