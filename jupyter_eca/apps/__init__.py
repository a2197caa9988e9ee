"""Where the engine runs: inside a Jupyter server, inside a kernel, on the command line, in a Python program."""
