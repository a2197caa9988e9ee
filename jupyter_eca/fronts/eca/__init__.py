"""Owns the front for the ECA protocol (Editor Code Assistant), which the panel, cells and editors speak.

`session.py` owns one connection over any link, and `methods/` has a function for each method. The front must not know
the application that runs it: `door.py` is the interface to the application.
"""
