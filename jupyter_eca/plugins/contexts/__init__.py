"""The contexts that a user can point at with `@`: one module for each kind, with a constant `CONTEXT`. `resolve`
uses them all.
"""
