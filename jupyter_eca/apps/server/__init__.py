"""Inside jupyter-server: one host, behind its own authenticated door. Loads what is heavy on first use."""
