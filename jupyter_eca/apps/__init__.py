"""Owns the programs that the assistant runs in: a Jupyter server (`server/`), a kernel (`kernel/`), or a process of its
own (`cli`, `process`, `api`).
"""
