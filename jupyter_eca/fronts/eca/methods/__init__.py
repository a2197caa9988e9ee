"""Owns the methods of ECA, one module for each subject. Each module exports `HANDLERS`, which maps the name of a method
to its function."""
