"""Owns what a cell shows while a question is answered, and how the cell asks the user to approve tool calls.

`turn` follows one turn, which is one question and its answer. It uses the other modules: `transcript` collects the
answer, `screen` shows it, `questions` asks the user.
"""
