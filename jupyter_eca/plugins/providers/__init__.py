"""The providers: one module for each, which imports its SDK on first use. `catalog` knows them all; `base` says what
one must have.
"""
