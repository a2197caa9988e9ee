"""Owns what an administrator runs beside a JupyterHub: `gateway/` has the files of a model gateway, which sends the
requests of all users to the vendors of models. `write_gateway` copies these files.
"""
