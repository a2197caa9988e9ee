"""Runs the assistant inside jupyter-server: one host, behind Jupyter's own authentication. Heavy modules are imported
on first use."""
