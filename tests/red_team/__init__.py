"""Injections in all that a model reads, and a model that obeys each of them."""
