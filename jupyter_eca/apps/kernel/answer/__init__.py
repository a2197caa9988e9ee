"""Owns what a cell shows while a question is answered, and how the cell asks the user for approval.

`turn` follows one turn, and uses the other modules: `transcript` collects the answer, `screen` shows it, `questions`
asks the user.
"""
