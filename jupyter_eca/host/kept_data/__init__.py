"""Owns what is kept about a chat, a workspace or the user as a whole: it is exported into one archive, or deleted.

`jupyter-eca export` and `jupyter-eca purge` use it, in a process without a host. `host/store/kept_rows.py` has the rows
of the database, and `kept_files` the files beside it.
"""
