"""Owns the providers of models: one module for each, which imports its SDK on first use. `base` has the protocol that a
provider implements, and `catalog` knows all providers.
"""
