"""Inside jupyter-server: one host, behind Jupyter's own authenticated door. What is heavy is imported on first use."""
