"""Serves a front over HTTP where no Jupyter server runs: `server.py` listens on a port, and `gate.py` checks each
request. It must not know any front.
"""
