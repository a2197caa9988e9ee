"""Owns the background jobs: shell commands, and code in kernels that continues to run after a tool has returned.
`background.py` keeps the jobs, and `shell.py` starts and ends processes. `process_records.py` ends the processes that
still run after our program was killed."""
