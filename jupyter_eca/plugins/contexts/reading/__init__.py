"""Owns how contexts read the open notebook (`open_notebook`), and what they offer from it while the user types
(`recent_look`).
"""
