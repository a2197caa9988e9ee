"""Owns what an administrator runs beside a JupyterHub: `gateway/` has the files of a gateway for models, which
`write_gateway` copies.
"""
