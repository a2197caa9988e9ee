"""Owns a front as an HTTP server of its own, for where no Jupyter server runs. It must not know any front."""
