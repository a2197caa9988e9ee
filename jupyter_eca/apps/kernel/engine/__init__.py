"""How a kernel reaches an engine: over a comm to the Jupyter server, or one of its own in this process."""
