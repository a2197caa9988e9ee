"""Where the assistant runs: in a Jupyter server (`server/`), in a kernel (`kernel/`), or as a process of its own
(`cli`, `process`, `api`).
"""
