"""Background jobs: shell commands, and code in kernels that runs on after a tool has returned. `background.py` keeps
them, `shell.py` starts and ends processes, `process_records.py` ends those that a killed program left running."""
