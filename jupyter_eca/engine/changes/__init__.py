"""Decides how the changes of a turn are shown, reviewed and taken back.

It must not read or write a file or a notebook: `host/operations` and `host/checkpoints` do.
"""
