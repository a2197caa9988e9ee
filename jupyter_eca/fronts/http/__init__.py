"""Serves a front over HTTP where no Jupyter server runs. It must not know any front."""
