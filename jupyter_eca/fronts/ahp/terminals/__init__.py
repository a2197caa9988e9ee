"""Owns the terminals of the Agent Host Protocol. It must not know sessions. `../reducers/terminal.py` applies actions
to the state of a terminal.
"""
