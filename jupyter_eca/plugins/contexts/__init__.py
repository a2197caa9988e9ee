"""Owns the contexts that a user can name with `@`: one module for each kind, with a constant `CONTEXT`. `base` has the
protocol of a context, and `resolve` uses all kinds.
"""
